// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/model/graph/graph.hpp"

namespace plumb {

/// Builds small graphs by hand, layer by layer, without any model file.
class GraphSketch {
 public:
  using Dims = std::vector<std::int64_t>;

  ValueId input(const Dims& dims, DataType type = DataType::kF32);
  ValueId weight(const Dims& dims, std::optional<double> scalar = {});

  /// Adds any layer: one output of the given dims, of the first input's type.
  ValueId layer(const std::string& op,
                const std::vector<std::optional<ValueId>>& inputs,
                const Dims& out,
                std::map<std::string, Attribute> attributes = {});
  /// k filters r×r, "same" padding for odd r, over NCHW.
  ValueId conv(ValueId x, std::int64_t filters, std::int64_t r, bool bias = false);
  ValueId batch_norm(ValueId x);
  ValueId eltwise(ValueId x, const std::string& fn, std::vector<double> parameters = {});
  ValueId relu(ValueId x) { return eltwise(x, "relu"); }
  ValueId sigmoid(ValueId x) { return eltwise(x, "sigmoid"); }
  /// The result has the dims of the operand of higher rank.
  ValueId binary(const std::string& fn, ValueId a, ValueId b);
  ValueId add(ValueId a, ValueId b) { return binary("add", a, b); }
  ValueId mul(ValueId a, ValueId b) { return binary("mul", a, b); }
  ValueId matmul(ValueId x, std::int64_t columns);
  ValueId gemm(ValueId x, std::int64_t columns);
  ValueId mean(ValueId x);
  ValueId view(ValueId x, const Dims& out);

  /// Makes the latest layer one that cannot be keyed.
  void unsupported(const std::string& reason);

  [[nodiscard]] Graph build(std::initializer_list<ValueId> outputs) const;
  /// Returns the layer that makes a value.
  [[nodiscard]] LayerId at(ValueId value) const { return *graph_.values[value].producer; }

 private:
  [[nodiscard]] const Dims& dims(ValueId value) const { return graph_.values[value].type.dims; }

  Graph graph_;
};

}  // namespace plumb
