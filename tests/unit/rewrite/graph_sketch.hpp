// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/model/graph/graph.hpp"

namespace plumb::rewrite {

/// Builds small graphs by hand, layer by layer, without any model file.
class GraphSketch {
 public:
  using Dims = std::vector<std::int64_t>;

  model::ValueId input(const Dims& dims, model::DataType type = model::DataType::kF32);
  model::ValueId weight(const Dims& dims, std::optional<double> scalar = {});

  /// Adds any layer: one output of the given dims, of the first input's type.
  model::ValueId layer(const std::string& op,
                       const std::vector<std::optional<model::ValueId>>& inputs,
                       const Dims& out,
                       std::map<std::string, model::Attribute> attributes = {});
  /// k filters r×r, "same" padding for odd r, over NCHW.
  model::ValueId conv(model::ValueId x, std::int64_t filters, std::int64_t r, bool bias = false);
  model::ValueId batch_norm(model::ValueId x);
  model::ValueId eltwise(model::ValueId x,
                         const std::string& fn,
                         std::vector<double> parameters = {});
  model::ValueId relu(model::ValueId x) { return eltwise(x, "relu"); }
  model::ValueId sigmoid(model::ValueId x) { return eltwise(x, "sigmoid"); }
  /// The result has the dims of the operand of higher rank.
  model::ValueId binary(const std::string& fn, model::ValueId a, model::ValueId b);
  model::ValueId add(model::ValueId a, model::ValueId b) { return binary("add", a, b); }
  model::ValueId mul(model::ValueId a, model::ValueId b) { return binary("mul", a, b); }
  model::ValueId matmul(model::ValueId x, std::int64_t columns);
  model::ValueId gemm(model::ValueId x, std::int64_t columns);
  model::ValueId mean(model::ValueId x);
  model::ValueId view(model::ValueId x, const Dims& out);

  /// Makes the latest layer one that cannot be keyed.
  void unsupported(const std::string& reason);

  [[nodiscard]] model::Graph build(std::initializer_list<model::ValueId> outputs) const;
  /// Returns the layer that makes a value.
  [[nodiscard]] model::LayerId at(model::ValueId value) const {
    return *graph_.values[value].producer;
  }

 private:
  [[nodiscard]] const Dims& dims(model::ValueId value) const {
    return graph_.values[value].type.dims;
  }

  model::Graph graph_;
};

}  // namespace plumb::rewrite
