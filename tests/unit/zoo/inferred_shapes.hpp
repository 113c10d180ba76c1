// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace plumb::zoo {

/// Shape of every value of a model, as onnx's own rules infer them, strictly.
class InferredShapes {
 public:
  /// Writes the inferred types into `model`. Throws what onnx throws where a rule is broken.
  explicit InferredShapes(onnx::ModelProto& model);

  /// Throws std::out_of_range for a name that the model has not, or whose shape is not fixed.
  [[nodiscard]] const std::vector<std::int64_t>& of(const std::string& name) const {
    return dims_.at(name);
  }

 private:
  std::map<std::string, std::vector<std::int64_t>> dims_;
};

/// Names an operator's type as Benanza's layers do: MaxPool is "Pooling", Add "ElementWise".
[[nodiscard]] std::string benanza_type(const std::string& op);

}  // namespace plumb::zoo
