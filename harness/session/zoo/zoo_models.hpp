// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/session/work/session_context.hpp"

namespace onnx {
class ModelProto;
}

namespace plumb::session {

/// Builds a model of the zoo as ONNX. Throws Error{kUser} for an unknown name or axis, with the
/// nearest one.
[[nodiscard]] onnx::ModelProto build_zoo_model(const std::string& name,
                                               const model::ReadOptions& options);

/// Returns the source of the models of the zoo.
[[nodiscard]] const ModelSource& zoo_models();

}  // namespace plumb::session
