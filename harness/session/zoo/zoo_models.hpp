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

/// Source of the models of the zoo.
class ZooModels final : public ModelSource {
 public:
  [[nodiscard]] std::map<std::string, std::int64_t> axes(
      const std::string& name, const model::ReadOptions& options) const override;
  [[nodiscard]] model::Graph graph(const std::string& name,
                                   const model::ReadOptions& options) const override;
  [[nodiscard]] std::string onnx(const std::string& name,
                                 const model::ReadOptions& options) const override;
};

}  // namespace plumb::session
