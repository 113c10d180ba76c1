// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <optional>
#include <string>

#include "harness/model/graph/graph.hpp"
#include "harness/model/onnx/values/constant_value.hpp"

namespace plumb::model {

/// Facts that the reader knows about one named value of the model. It refers to the model, which
/// must outlive it.
class ModelValue {
 public:
  /// Origins of a value, which decide whether its reader is a layer.
  enum class Origin {
    kData,    ///< depends on the model's inputs
    kWeight,  ///< an initializer, a Constant, or computed from these
    kShape,   ///< computed from shapes, perhaps with constants
  };

  std::string name;
  Origin origin = Origin::kData;
  onnx::TypeProto proto;           ///< as ONNX's inference wants it; dimensions bound
  std::optional<TensorType> type;  ///< empty: not a tensor, or not every extent is known
  bool used = false;               ///< some node reads it, or it is an output of the model
  bool holds_parameters =
      false;  ///< an initializer, or a constant node's output of more than one element
  bool used_as_weight = false;  ///< a layer computes with it, directly or through folded nodes
  std::optional<LayerId> producer;
  std::optional<ValueId> id;  ///< in the graph, once a layer refers to it

  /// Binds a tensor of the model, which is not owned and may hold no data.
  void bind(const onnx::TensorProto& tensor, const std::filesystem::path& folder);
  /// Binds a value that was evaluated.
  void bind(ConstantValue value);
  /// Sets `proto` as the value's type. `type` follows from it.
  void set_proto(onnx::TypeProto type_proto);

  /// Returns the elements if they are few and known. Null otherwise.
  [[nodiscard]] const ConstantValue* known();
  /// Returns the elements as ONNX's inference wants them. Null if they are not known.
  [[nodiscard]] const onnx::TensorProto* tensor();

 private:
  const onnx::TensorProto* tensor_ = nullptr;
  const std::filesystem::path* folder_ = nullptr;
  std::optional<ConstantValue> known_;
  std::optional<onnx::TensorProto> encoded_;
  bool decoded_ = false;
};

}  // namespace plumb::model
