// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/model/onnx/values/constant_value.hpp"

namespace plumb::model {

/// Exception for a node that cannot be keyed, with the reason. It is thrown where a node is read,
/// and becomes Layer::reason. It never leaves this module.
class Unsupported : public std::runtime_error {
 public:
  explicit Unsupported(const std::string& reason) : std::runtime_error(reason) {}
};

/// View of one node with the types of its inputs and outputs. It refers to the model and owns
/// nothing of it. Reading what is absent or unknown throws Unsupported.
class NodeView {
 public:
  /// Facts that the reader knows about one named value of the model. It refers to the model, which
  /// must outlive it.
  class Value {
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

  NodeView(const onnx::NodeProto& node,
           std::int64_t opset,
           std::vector<Value*> inputs,
           std::vector<Value*> outputs)
      : node_(&node), opset_(opset), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}

  [[nodiscard]] const onnx::NodeProto& proto() const { return *node_; }
  [[nodiscard]] const std::string& op() const { return node_->op_type(); }
  [[nodiscard]] std::int64_t opset() const { return opset_; }  ///< of the node's domain

  [[nodiscard]] std::size_t input_count() const { return inputs_.size(); }
  [[nodiscard]] std::size_t output_count() const { return outputs_.size(); }
  [[nodiscard]] bool has_input(std::size_t index) const {
    return index < inputs_.size() && inputs_[index] != nullptr;
  }
  /// Returns whether the node has an output at `index`: the first, or a later one that is read.
  [[nodiscard]] bool has_output(std::size_t index) const {
    return output(index) != nullptr && (index == 0 || outputs_[index]->used);
  }
  [[nodiscard]] Value* input(std::size_t index) const {
    return has_input(index) ? inputs_[index] : nullptr;
  }
  [[nodiscard]] Value* output(std::size_t index) const {
    return index < outputs_.size() ? outputs_[index] : nullptr;
  }

  [[nodiscard]] const TensorType& input_type(std::size_t index) const;
  [[nodiscard]] const TensorType& output_type(std::size_t index) const;
  [[nodiscard]] const std::vector<std::int64_t>& dims(std::size_t index) const {
    return input_type(index).dims;
  }

  /// Returns the elements of an input that must be known before the run.
  [[nodiscard]] const ConstantValue& known(std::size_t index) const;
  [[nodiscard]] std::vector<std::int64_t> known_integers(std::size_t index) const;

  [[nodiscard]] const onnx::AttributeProto* attribute(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  /// Reads a float as the double with the same shortest decimal text, so that 1e-5f becomes 1e-5.
  [[nodiscard]] double real(std::string_view name, double otherwise) const;
  [[nodiscard]] std::string word(std::string_view name, std::string_view otherwise) const;
  /// Reads a list. Empty if the attribute is absent.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::string_view name) const;
  /// Reads a list as real() reads one number. Empty if the attribute is absent.
  [[nodiscard]] std::vector<double> reals(std::string_view name) const;

  /// Makes an axis non-negative. Throws Unsupported outside [-rank, rank), where `inclusive` allows
  /// rank itself.
  [[nodiscard]] static std::int64_t positive_axis(std::int64_t axis,
                                                  std::size_t rank,
                                                  bool inclusive = false);

 private:
  const onnx::NodeProto* node_;
  std::int64_t opset_;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
};

/// Returns the double whose shortest decimal text is that of `value`.
[[nodiscard]] double widen(float value);

/// Returns whether a domain is ONNX's own.
[[nodiscard]] bool is_default_domain(const std::string& domain);

/// Returns whether a node has a subgraph (If, Loop, Scan, SequenceMap…).
[[nodiscard]] bool has_subgraph(const onnx::NodeProto& node);

/// Returns the origin of a node's outputs, given its inputs. Data take precedence over shapes, and
/// shapes over weights. However, a large floating-point weight makes shape arithmetic a fold (a
/// position embedding gathered by a range).
[[nodiscard]] NodeView::Value::Origin find_origin(const NodeView& node);

/// Returns whether all inputs that are given have a type with every extent known.
[[nodiscard]] bool all_inputs_typed(const NodeView& node);

/// Returns whether a node's result may be needed to infer shapes or to read attributes. Such a
/// result does not depend on data. It is computed from shapes, made of integers, or made of few
/// numbers.
[[nodiscard]] bool is_worth_evaluating(const NodeView& node);

/// Returns whether a node of constants computes axes, shapes or indices rather than weights. Such
/// results are integers of rank 0 or 1.
[[nodiscard]] bool is_index_arithmetic(const NodeView& node);

}  // namespace plumb::model
