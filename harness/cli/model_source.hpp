// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/model/onnx/onnx_reader.hpp"
#include "harness/session/planner.hpp"
#include "harness/suite/suite.hpp"

namespace onnx {
class ModelProto;
}

namespace plumb {

/// Reads a model by zoo name or by path of an .onnx file. Dimensions of a zoo model are its axes.
/// Throws Error{kUser} if it is neither, with the nearest zoo model or axis.
[[nodiscard]] Graph load_graph(const std::string& name, const ReadOptions& options);

/// Builds a zoo model as ONNX. Throws Error{kUser} as above.
[[nodiscard]] onnx::ModelProto build_zoo_model(const std::string& name, const ReadOptions& options);

/// Resolves a suite, with every axis of a zoo model at its extent. Throws Error{kUser} with file
/// and line, also for unknown models and axes.
[[nodiscard]] ResolvedSuite resolve_suite(const SuiteSpec& spec);

/// Reads one model of a suite, in its type and with the suite's name for it. Throws Error{kUser}
/// for a type that is not floating or int8, and for a model that is not usable.
[[nodiscard]] PlannedModel load_model(const ResolvedSuite::Model& model);

/// Reads the models of a suite for a run. The suite gets the batch that each is executed at. A
/// model that cannot be read is logged and leaves the suite. Throws its Error if nothing is left.
[[nodiscard]] std::vector<PlannedModel> prepare_models(ResolvedSuite& suite);

/// Reads the models of a suite in its order, each in its type and with the suite's name for it.
/// `only` names the models to read; empty: all. Throws Error{kUser} for a type that is not floating
/// or int8, and if `only` leaves no model.
[[nodiscard]] std::vector<PlannedModel> load_models(const ResolvedSuite& suite,
                                                    const std::vector<std::string>& only);

/// Reduces a suite to the models of these names, without layers of its own. Throws Error{kUser} if
/// no model is left.
void keep_models(ResolvedSuite& suite, const std::vector<std::string>& names);

}  // namespace plumb
