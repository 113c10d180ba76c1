// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/model/onnx_reader.hpp"
#include "harness/plan/planner.hpp"
#include "harness/suite/suite.hpp"

namespace onnx {
class ModelProto;
}

namespace plumb {

/// Reads a model by zoo name or path to an .onnx file. Dimensions of a zoo model are its axes.
/// Throws Error{kUser} for neither, naming the zoo model or the axis most like it.
[[nodiscard]] Graph load_graph(const std::string& name, const ReadOptions& options);

/// Builds a zoo model as ONNX. Throws Error{kUser} as above.
[[nodiscard]] onnx::ModelProto build_zoo_model(const std::string& name, const ReadOptions& options);

/// Resolves a suite, with every axis of a zoo model at its extent. Throws Error{kUser} with file
/// and line, also for models and axes that are not there.
[[nodiscard]] ResolvedSuite resolve_suite(const SuiteSpec& spec);

/// Reads every model of a suite in its order, each in its type, named as the suite names it; models
/// other than `only` are left out if that is not empty.
[[nodiscard]] std::vector<PlannedModel> load_models(const ResolvedSuite& suite,
                                                    const std::vector<std::string>& only);

/// Leaves of a suite only the models of these names, and no layers of its own. Throws Error{kUser}
/// if none is left.
void keep_models(ResolvedSuite& suite, const std::vector<std::string>& names);

}  // namespace plumb
