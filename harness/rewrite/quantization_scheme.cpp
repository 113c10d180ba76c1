// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/quantization_scheme.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string_view>

#include "harness/rewrite/operand.hpp"

namespace plumb::rewrite {
namespace {

struct Use {
  model::LayerId layer;
  std::size_t operand;
};

bool is_f32(const std::optional<model::TensorType>& type) {
  return type && type->dtype == model::DataType::kF32;
}

/// Returns whether a layer is a product of one activation with constant weights, all in f32.
bool is_product(const model::Layer& layer) {
  const model::LayerSpec& spec = layer.spec;
  if (layer.role != model::Layer::Role::kCompute || spec.inputs.size() < 2 ||
      !is_f32(spec.inputs[0]) || !is_f32(spec.inputs[1]) || spec.inputs[0]->constant ||
      !spec.inputs[1]->constant || spec.outputs.size() != 1 ||
      spec.outputs[0].dtype != model::DataType::kF32) {
    return false;
  }
  if (spec.op == "conv") {
    return true;
  }
  if (spec.op == "gemm") {
    return spec.real("alpha") == 1.0 && spec.real("beta") == 1.0 && spec.integer("trans_a") == 0;
  }
  return spec.op == "matmul" && spec.inputs[1]->dims.size() == 2 &&
         spec.inputs[0]->dims.size() >= 2;
}

/// Returns whether a layer only moves numbers, so that its operands and results can share a scale.
bool is_mover(const model::Layer& layer) {
  constexpr std::array<std::string_view, 4> kOps{"max_pool", "concat", "transpose", "view"};
  const model::LayerSpec& spec = layer.spec;
  return (layer.role == model::Layer::Role::kCompute || layer.role == model::Layer::Role::kView) &&
         std::find(kOps.begin(), kOps.end(), spec.op) != kOps.end() && spec.epilogue.empty() &&
         std::all_of(spec.inputs.begin(), spec.inputs.end(), [](const auto& input) {
           return is_f32(input) && !input->constant;
         });
}

bool makes_no_negatives(std::string_view fn, const std::vector<double>& parameters) {
  return fn == "relu" || fn == "sigmoid" || fn == "hard_sigmoid" || fn == "softplus" ||
         fn == "exp" || (fn == "clip" && !parameters.empty() && parameters.front() >= 0.0);
}

bool makes_no_negatives(const model::LayerSpec& spec) {
  if (!spec.epilogue.empty()) {
    return makes_no_negatives(spec.epilogue.back().fn, spec.epilogue.back().parameters);
  }
  return spec.op == "softmax" ||
         (spec.op == "eltwise" && makes_no_negatives(spec.text("fn"), spec.reals("parameters")));
}

class Scheme {
 public:
  explicit Scheme(const model::Graph& graph) : graph_(graph), uses_(graph.values.size()) {
    for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
      const model::Layer& layer = graph.layers[id];
      result_.products.push_back(is_product(layer));
      result_.movers.push_back(is_mover(layer));
      for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
        if (layer.inputs[i] && layer.role != model::Layer::Role::kFolded) {
          uses_[*layer.inputs[i]].push_back({id, i});
        }
      }
    }
  }

  QuantizationScheme choose() {
    // A mover that stays in f32 needs its operands in f32, which may leave others without use.
    do {
      find_wanted();
    } while (drop_movers());
    find_eight_bit();
    find_signs();
    join_grids();
    return std::move(result_);
  }

 private:
  /// Returns whether all that is computed from a value could be computed from its 8-bit form.
  [[nodiscard]] bool wanted(model::ValueId value) const {
    const bool is_output =
        std::find(graph_.outputs.begin(), graph_.outputs.end(), value) != graph_.outputs.end();
    return !is_output && !uses_[value].empty() &&
           std::all_of(uses_[value].begin(), uses_[value].end(), [&](const Use& use) {
             return result_.products[use.layer]
                        ? use.operand == 0
                        : result_.movers[use.layer] && all_wanted(graph_.layers[use.layer].outputs);
           });
  }

  [[nodiscard]] bool all_wanted(const std::vector<model::ValueId>& values) const {
    return std::all_of(
        values.begin(), values.end(), [&](model::ValueId value) { return wanted_[value]; });
  }

  void find_wanted() {
    wanted_.assign(graph_.values.size(), false);
    for (model::LayerId id = graph_.layers.size(); id-- > 0;) {
      for (const model::ValueId output : graph_.layers[id].outputs) {
        wanted_[output] = wanted(output);
      }
    }
  }

  void find_eight_bit() {
    result_.eight_bit.assign(graph_.values.size(), false);
    for (model::LayerId id = 0; id < graph_.layers.size(); ++id) {
      for (const model::ValueId output : graph_.layers[id].outputs) {
        result_.eight_bit[output] = wanted_[output] && (result_.products[id] || result_.movers[id]);
      }
    }
  }

  /// Leaves movers in f32 where 8 bits are of no use, because rounding behind them is cheaper. Such
  /// movers have results that no reader needs in 8 bits, or no operand in 8 bits. Returns whether
  /// there was one.
  bool drop_movers() {
    find_eight_bit();
    bool dropped = false;
    for (model::LayerId id = 0; id < graph_.layers.size(); ++id) {
      const model::Layer& layer = graph_.layers[id];
      if (!result_.movers[id]) {
        continue;
      }
      const bool reached =
          std::any_of(layer.inputs.begin(), layer.inputs.end(), [&](const auto& input) {
            return input && result_.eight_bit[*input];
          });
      if (!reached || !all_wanted(layer.outputs)) {
        result_.movers[id] = false;
        dropped = true;
      }
    }
    return dropped;
  }

  void find_signs() {
    result_.non_negative.assign(graph_.values.size(), false);
    for (const model::Layer& layer : graph_.layers) {
      const bool keeps = is_mover(layer) || is_op(layer, "average_pool");
      const bool non_negative =
          keeps ? std::all_of(
                      layer.inputs.begin(),
                      layer.inputs.end(),
                      [&](const auto& input) { return !input || result_.non_negative[*input]; })
                : layer.role == model::Layer::Role::kCompute && makes_no_negatives(layer.spec);
      for (const model::ValueId output : layer.outputs) {
        result_.non_negative[output] = non_negative;
      }
    }
  }

  model::ValueId root(model::ValueId value) {
    while (result_.grid[value] != value) {
      value = result_.grid[value];
    }
    return value;
  }

  void join_grids() {
    result_.grid.resize(graph_.values.size());
    std::iota(result_.grid.begin(), result_.grid.end(), model::ValueId{0});
    for (model::LayerId id = 0; id < graph_.layers.size(); ++id) {
      const model::Layer& layer = graph_.layers[id];
      if (!result_.movers[id]) {
        continue;
      }
      const model::ValueId result = layer.outputs.at(0);
      for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
        const model::ValueId left = root(*layer.inputs[i]);
        const model::ValueId right = root(result);
        result_.grid[std::max(left, right)] = std::min(left, right);
      }
    }
    for (model::ValueId value = 0; value < result_.grid.size(); ++value) {
      result_.grid[value] = root(value);
    }
  }

  const model::Graph& graph_;
  std::vector<std::vector<Use>> uses_;
  std::vector<bool> wanted_;
  QuantizationScheme result_;
};

}  // namespace

QuantizationScheme quantization_scheme(const model::Graph& graph) {
  return Scheme(graph).choose();
}

}  // namespace plumb::rewrite
