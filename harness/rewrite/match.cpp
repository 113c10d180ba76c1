// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/match.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/model/key/op_schema.hpp"

namespace plumb::rewrite {

Match make_match(std::string_view rule,
                 std::vector<model::LayerId> layers,
                 Replacement replacement) {
  PLUMB_CHECK(replacement.inputs.size() == replacement.spec.inputs.size());
  std::sort(layers.begin(), layers.end());
  model::LayerKey key = model::to_key(replacement.spec);
  const model::LayerCost cost = model::compute_cost(replacement.spec);
  return {std::move(replacement), rule, std::move(layers), std::move(key), cost};
}

bool is_op(const model::Layer& layer, std::string_view op) {
  return layer.role == model::Layer::Role::kCompute && layer.spec.op == op;
}

bool is_fn(const model::Layer& layer, std::string_view op, std::string_view fn) {
  return is_op(layer, op) && layer.spec.text("fn") == fn;
}

std::optional<std::size_t> other_operand(const model::Layer& layer,
                                         std::string_view fn,
                                         model::ValueId value) {
  if (!is_fn(layer, "binary", fn) || layer.inputs.size() < 2) {
    return std::nullopt;
  }
  const bool left = layer.inputs[0] == value;
  const bool right = layer.inputs[1] == value;
  if (left == right) {
    return std::nullopt;
  }
  return left ? 1U : 0U;
}

bool is_scalar(const model::Graph& graph,
               const model::Layer& layer,
               std::size_t operand,
               double expected) {
  const std::optional<model::TensorType>& type = layer.spec.inputs[operand];
  if (!type || !type->constant || element_count(*type) != 1 || !layer.inputs[operand]) {
    return false;
  }
  const std::optional<double>& scalar = graph.values[*layer.inputs[operand]].scalar;
  return !scalar || std::abs(*scalar - expected) <= 1e-3 * std::abs(expected);
}

bool is_with_scalar(const model::Graph& graph,
                    const model::Layer& layer,
                    std::string_view fn,
                    model::ValueId value,
                    double expected) {
  const std::optional<std::size_t> other = other_operand(layer, fn, value);
  if (!other || !is_scalar(graph, layer, *other, expected)) {
    return false;
  }
  const bool commutes = fn == "add" || fn == "mul";
  return commutes || *other == 1;
}

namespace {

bool is_among(std::size_t id, std::span<const std::size_t> ids) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

ValueUses::ValueUses(const model::Graph& graph)
    : graph_(&graph), first_(graph.values.size() + 1, 0), is_output_(graph.values.size(), false) {
  for (const model::Layer& layer : graph.layers) {
    for (const std::optional<model::ValueId>& input : layer.inputs) {
      if (input) {
        ++first_[*input + 1];
      }
    }
  }
  for (std::size_t i = 1; i < first_.size(); ++i) {
    first_[i] += first_[i - 1];
  }
  readers_.resize(first_.back());
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    for (const std::optional<model::ValueId>& input : graph.layers[id].inputs) {
      if (input) {
        readers_[next[*input]++] = id;
      }
    }
  }
  for (const model::ValueId output : graph.outputs) {
    is_output_[output] = true;
  }
}

std::span<const model::LayerId> ValueUses::readers(model::ValueId value) const {
  return std::span(readers_).subspan(first_[value], first_[value + 1] - first_[value]);
}

std::optional<model::LayerId> ValueUses::only_reader(model::ValueId value) const {
  const std::span<const model::LayerId> all = readers(value);
  if (all.size() != 1 || is_output_[value]) {
    return std::nullopt;
  }
  return all.front();
}

/// Returns whether a layer outside reads a value before a place, by itself or through views.
bool ValueUses::read_before(model::ValueId value,
                            model::LayerId place,
                            std::span<const model::LayerId> inside) const {
  std::vector<model::ValueId> same{value};  // by other extents
  for (std::size_t i = 0; i < same.size(); ++i) {
    for (const model::LayerId id : readers(same[i])) {
      if (id > place || is_among(id, inside)) {
        continue;
      }
      const model::Layer& layer = graph_->layers[id];
      if (layer.role != model::Layer::Role::kView) {
        return true;
      }
      same.push_back(layer.outputs.front());
    }
  }
  return false;
}

bool ValueUses::closed(std::span<const model::LayerId> layers,
                       std::span<const model::ValueId> results) const {
  const model::LayerId place = *std::max_element(layers.begin(), layers.end());
  for (const model::LayerId id : layers) {
    for (const model::ValueId output : graph_->layers[id].outputs) {
      if (is_among(output, results)) {
        if (read_before(output, place, layers)) {
          return false;
        }
        continue;
      }
      const std::span<const model::LayerId> all = readers(output);
      if (is_output_[output] || !std::all_of(all.begin(), all.end(), [&](model::LayerId reader) {
            return is_among(reader, layers);
          })) {
        return false;
      }
    }
  }
  return true;
}

namespace {

// No two of them share a match, so their savings add up but for what overlaps. Forward, a product
// takes GELU along only where no gradient reads what lies between, as in front of all trained
// weights.
constexpr std::array kFamilies = std::to_array<FusionFamily>({
    {"conv_relu_backward", "conv_activation_gradient", "relu_backward"},
    {"fused_optimizer", "update", ""},
    {"gemm_bias", "matmul_add|bias_gradient", "add"},
    {"gemm_gelu",
     "gemm_activation|matmul_activation|matmul_add_activation|gelu|gemm_activation_gradient|"
     "matmul_activation_gradient",
     "add|gelu_erf|gelu_tanh|gelu_erf_backward|gelu_tanh_backward"},
    {"gemm_relu",
     "gemm_activation|matmul_activation|matmul_add_activation|gemm_activation_gradient|"
     "matmul_activation_gradient",
     "add|relu|relu_backward"},
});

}  // namespace

bool FusionFamily::contains(const Match& match) const {
  const std::vector<model::Epilogue>& steps = match.spec.epilogue;
  return std::all_of(steps.begin(), steps.end(), [this](const model::Epilogue& step) {
    return model::is_one_of(functions, step.fn);
  });
}

std::span<const FusionFamily> fusion_families() {
  return kFamilies;
}

const FusionFamily& find_fusion_family(std::string_view name) {
  const auto* const found =
      std::find_if(kFamilies.begin(), kFamilies.end(), [name](const FusionFamily& family) {
        return family.name == name;
      });
  PLUMB_CHECK(found != kFamilies.end());
  return *found;
}

}  // namespace plumb::rewrite
