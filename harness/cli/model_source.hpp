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

/// Reads a model by zoo name or path to an .onnx file.
/// Throws Error{kUser} for neither, naming the zoo model most like it.
[[nodiscard]] Graph load_graph(const std::string& name, const ReadOptions& options);

/// Builds a zoo model as ONNX. Throws Error{kUser} as above.
[[nodiscard]] onnx::ModelProto build_zoo_model(const std::string& name, std::int64_t batch);

/// Reads every model of a suite, each in its type, named as the suite names it; models other than
/// `only` are left out if that is not empty.
[[nodiscard]] std::vector<PlannedModel> load_models(const ResolvedSuite& suite,
                                                    const std::vector<std::string>& only);

}  // namespace plumb
