// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "harness/model/tensor.hpp"

namespace onnx {
class ModelProto;
}

namespace plumb::zoo {

class GraphBuilder;

using Shape = std::vector<std::int64_t>;

/// Sets one attribute of a node: an integer, a real, a word or a list of integers.
using NodeAttribute =
    std::pair<std::string,
              std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>>>;

/// Describes a square two-dimensional convolution.
struct Conv2d {
  std::int64_t filters = 0;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t pad = 0;  ///< on all four sides
  std::int64_t group = 1;
  bool bias = false;
};

/// Describes a square two-dimensional pooling window.
struct Pool2d {
  std::int64_t kernel = 0;
  std::int64_t stride = 1;
  Shape pads = {0, 0, 0, 0};  ///< top, left, bottom, right
};

/// Names one tensor of a graph under construction. A small value; valid as long as its builder.
///
/// Each method appends one node that reads this tensor and returns the node's output, so that a
/// network reads like the architecture table of its paper: `x.conv({.filters = 64}).relu()`.
/// `label` names the node; empty: the operator and a number.
class Wire {
 public:
  Wire(GraphBuilder& builder, std::string name, Shape shape)
      : builder_(&builder), name_(std::move(name)), shape_(std::move(shape)) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }

  Wire conv(const Conv2d& spec, std::string_view label = {}) const;
  Wire batch_norm() const;
  Wire relu() const;
  Wire max_pool(const Pool2d& window) const;
  Wire average_pool(const Pool2d& window) const;
  Wire global_average_pool() const;
  /// Normalises across `size` channels with the given alpha; beta 0.75.
  Wire lrn(std::int64_t size, float alpha, float bias) const;
  /// Appends the fully connected layer x·Wᵀ + b with W of [units, features].
  Wire gemm(std::int64_t units, std::string_view label = {}) const;
  Wire matmul(const Wire& right, std::string_view label = {}) const;
  /// Appends an element-wise node; the output has this tensor's shape.
  Wire add(const Wire& right, std::string_view label = {}) const;
  Wire mul(const Wire& right, std::string_view label = {}) const;
  Wire div(const Wire& right, std::string_view label = {}) const;
  Wire flatten() const;
  /// Appends a Reshape; at most one −1, and 0 keeps the extent, so that any batch passes.
  Wire reshape(const Shape& target) const;
  Wire transpose(const std::vector<std::int64_t>& permutation) const;
  Wire unsqueeze(const std::vector<std::int64_t>& axes) const;
  Wire dropout(float ratio) const;
  /// Appends a Dropout that also writes its mask, as Caffe2 exports it.
  Wire dropout_with_mask(float ratio) const;
  Wire softmax(std::int64_t axis) const;

 private:
  GraphBuilder* builder_;
  std::string name_;
  Shape shape_;
};

/// Builds a weight-free ONNX model node by node, in the order of the calls.
///
/// A weight becomes an initializer with a name, a type and a shape but no data: it costs a few
/// bytes, and everything but its values is exact. Small integer constants (Reshape's shapes) and
/// scalars carry their data, because they change what is computed.
class GraphBuilder {
 public:
  GraphBuilder(std::string_view model_name, std::int64_t opset);
  ~GraphBuilder();
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  [[nodiscard]] std::int64_t opset() const { return opset_; }

  Wire input(std::string_view name, Shape shape, DataType type = DataType::kF32);
  /// Adds an initializer without data.
  Wire weight(std::string_view name, Shape shape);
  /// Adds a constant with data: integers of the given shape (empty: one, a scalar), or one real.
  Wire integers(std::string_view name, const std::vector<std::int64_t>& values, Shape shape);
  Wire scalar(std::string_view name, float value);
  /// Appends any node; its first output has the given shape. `name` is whole; empty: a number is
  /// given.
  Wire node(std::string_view op,
            const std::vector<Wire>& inputs,
            Shape output,
            const std::vector<NodeAttribute>& attributes = {},
            std::string name = {},
            const std::vector<std::string>& more_outputs = {});
  Wire concat(const std::vector<Wire>& inputs, std::int64_t axis);
  void output(const Wire& wire, DataType type = DataType::kF32);

  /// Puts `prefix` before the names of what follows; each prefix numbers its own nodes.
  void enter(std::string prefix);
  /// Returns the prefix and `label`, or the prefix, the operator in lower case and the next number.
  std::string next_name(std::string_view op, std::string_view label);

  /// Returns the model. The builder is spent afterwards.
  onnx::ModelProto finish();

 private:
  std::int64_t opset_;
  std::unique_ptr<onnx::ModelProto> model_;
  std::string prefix_;
  std::map<std::string, int> numbers_;  ///< next number by prefix and operator
};

}  // namespace plumb::zoo
