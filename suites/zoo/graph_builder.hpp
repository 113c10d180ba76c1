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

#include "harness/model/key/tensor.hpp"

namespace onnx {
class ModelProto;
}

namespace plumb::zoo {

class GraphBuilder;

using Shape = std::vector<std::int64_t>;

/// Returns the product of the extents; 1 for a scalar.
[[nodiscard]] std::int64_t element_count(const Shape& shape);

/// One tensor of a graph under construction. It is a small value, valid as long as its builder.
///
/// Each method appends one node that reads this tensor, and returns the node's output. So a network
/// reads like the architecture table of its paper: `x.conv({.filters = 64}).relu()`. `label` names
/// the node; empty: the operator and a number.
class Wire {
 public:
  /// Parameters of a square two-dimensional convolution.
  struct Conv2d {
    std::int64_t filters = 0;
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    std::int64_t pad = 0;  ///< on all four sides
    std::int64_t dilation = 1;
    std::int64_t group = 1;
    bool bias = false;
    bool same_upper = false;  ///< leaves the padding to the runtime: auto_pad instead of pads
  };

  /// Parameters of a square two-dimensional pooling window.
  struct Pool2d {
    std::int64_t kernel = 0;
    std::int64_t stride = 1;
    Shape pads = {0, 0, 0, 0};  ///< top, left, bottom, right
    bool same_upper = false;    ///< as in Conv2d
  };

  Wire(GraphBuilder& builder, std::string name, Shape shape)
      : builder_(&builder), name_(std::move(name)), shape_(std::move(shape)) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }

  Wire conv(const Conv2d& spec, std::string_view label = {}) const;
  Wire batch_norm(float epsilon = 1e-5F, float momentum = 0.9F) const;
  Wire relu() const;
  Wire leaky_relu(float alpha) const;
  Wire prelu(const Wire& slope) const;
  Wire max_pool(const Pool2d& window) const;
  Wire average_pool(const Pool2d& window) const;
  Wire global_average_pool() const;
  /// Appends LRN across `size` channels with the given alpha. Its beta is 0.75.
  Wire lrn(std::int64_t size, float alpha, float bias) const;
  /// Appends the fully connected layer x·Wᵀ + b with W of [units, features].
  Wire gemm(std::int64_t units, std::string_view label = {}) const;
  Wire matmul(const Wire& right, std::string_view label = {}) const;
  /// Appends an element-wise node. Its output has this tensor's shape.
  Wire add(const Wire& right, std::string_view label = {}) const;
  Wire sub(const Wire& right, std::string_view label = {}) const;
  Wire mul(const Wire& right, std::string_view label = {}) const;
  Wire div(const Wire& right, std::string_view label = {}) const;
  /// Appends a Sum of this tensor and others of its shape.
  Wire sum(const std::vector<Wire>& others) const;
  Wire identity() const;
  Wire flatten() const;
  /// Appends a Reshape. At most one extent is −1. A 0 keeps the extent, so that any batch passes.
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

/// One attribute of a node: an integer, a real, a word, or a list of integers or reals.
using NodeAttribute = std::pair<
    std::string,
    std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>>>;

/// Builder of a weight-free ONNX model, node by node, in the order of the calls.
///
/// A weight becomes an initializer with a name, a type and a shape but no data. It costs a few
/// bytes, and everything but its values is exact. Small integer constants (Reshape's shapes) and
/// scalars carry their data, because they change what is computed.
class GraphBuilder {
 public:
  GraphBuilder(std::string_view model_name, std::int64_t opset);
  ~GraphBuilder();
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;
  GraphBuilder(GraphBuilder&&) = delete;
  GraphBuilder& operator=(GraphBuilder&&) = delete;

  [[nodiscard]] std::int64_t opset() const { return opset_; }

  Wire input(std::string_view name, Shape shape, model::DataType type = model::DataType::kF32);
  /// Adds an initializer without data.
  Wire weight(std::string_view name, Shape shape);
  /// Adds a constant with data: integers of the given shape (empty: a scalar), one real, or a list
  /// of reals.
  Wire integers(std::string_view name, const std::vector<std::int64_t>& values, Shape shape);
  Wire scalar(std::string_view name, float value);
  Wire reals(std::string_view name, const std::vector<float>& values);
  /// Appends any node. Its first output has the given shape. `name` is the whole name; empty: a
  /// numbered one.
  Wire node(std::string_view op,
            const std::vector<Wire>& inputs,
            Shape output,
            const std::vector<NodeAttribute>& attributes = {},
            std::string name = {},
            const std::vector<std::string>& more_outputs = {});
  Wire concat(const std::vector<Wire>& inputs, std::int64_t axis);
  void output(const Wire& wire, model::DataType type = model::DataType::kF32);

  /// Sets the prefix of the names that follow. Each prefix numbers its own nodes.
  void enter(std::string prefix);
  /// Returns the prefix and `label`. Without a label it is the prefix, the operator in lower case
  /// and the next number.
  std::string next_name(std::string_view op, std::string_view label);

  /// Returns the model. The builder cannot be used afterwards.
  onnx::ModelProto finish();

 private:
  std::int64_t opset_;
  std::unique_ptr<onnx::ModelProto> model_;
  std::string prefix_;
  std::map<std::string, int> numbers_;  ///< next number by prefix and operator
};

}  // namespace plumb::zoo
