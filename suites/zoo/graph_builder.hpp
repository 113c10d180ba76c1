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
#include "suites/zoo/wire.hpp"

namespace onnx {
class ModelProto;
}

namespace plumb::zoo {

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
