// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/quantized_graph.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/model/key/operator_families.hpp"
#include "harness/rewrite/match.hpp"
#include "harness/rewrite/rewrite.hpp"

namespace plumb::rewrite {
namespace {

/// Layers of a graph that compute in 8 bits, and values that are in 8 bits.
struct QuantizationScheme {
  std::vector<bool> products;        ///< by layer: becomes a product of 8-bit integers
  std::vector<bool> movers;          ///< by layer: only moves 8-bit integers
  std::vector<bool> eight_bit;       ///< by value: made in 8 bits by its layer
  std::vector<bool> non_negative;    ///< by value: no number is below zero
  std::vector<model::ValueId> grid;  ///< by value: the first value that has the same scale
};

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

/// Chooses the layers and values of a graph that are in 8 bits, for quantized_graph().
[[nodiscard]] QuantizationScheme quantization_scheme(const model::Graph& graph) {
  return Scheme(graph).choose();
}

model::TensorType constant_type(model::DataType type, std::vector<std::int64_t> dims) {
  return {.dtype = type, .dims = std::move(dims), .constant = true, .strides = {}};
}

/// Operands of a layer that is being made.
struct Operands {
  std::vector<std::optional<model::TensorType>> types;
  std::vector<std::optional<model::ValueId>> values;

  void add(const model::Graph& graph, model::ValueId value) {
    types.emplace_back(graph.values[value].type);
    values.emplace_back(value);
  }
  void skip() {
    types.emplace_back();
    values.emplace_back();
  }
  /// Adds an operand of another layer, with the type in that layer's key. Returns its index.
  std::size_t take(const model::Layer& layer, std::size_t index) {
    types.push_back(layer.spec.inputs[index]);
    values.push_back(layer.inputs[index]);
    return types.size() - 1;
  }
  void trim() {
    while (!types.empty() && !types.back()) {
      types.pop_back();
      values.pop_back();
    }
  }
};

class Quantizer {
 public:
  explicit Quantizer(const FusedGraph& fused)
      : from_(fused), scheme_(quantization_scheme(fused.graph)), result_(fused) {
    result_.graph.layers.clear();
    result_.origins.clear();
  }

  FusedGraph run() {
    for (model::ValueId value = 0; value < scheme_.eight_bit.size(); ++value) {
      if (scheme_.eight_bit[value]) {
        graph().values[value].type.dtype = grid_type(value);
      }
    }
    for (model::LayerId id = 0; id < from_.graph.layers.size(); ++id) {
      if (scheme_.products[id]) {
        add(id, product(id));
      } else if (scheme_.movers[id]) {
        add(id, mover(id));
      } else {
        add(id, from_.graph.layers[id]);
      }
    }
    set_producers();
    return std::move(result_);
  }

 private:
  model::Graph& graph() { return result_.graph; }

  void add(model::LayerId origin, model::Layer layer) {
    graph().layers.push_back(std::move(layer));
    result_.origins.push_back(from_.origins[origin]);
  }

  model::ValueId add_value(const std::string& name, const model::TensorType& type) {
    graph().values.push_back({name, type, {}, {}});
    return graph().values.size() - 1;
  }

  /// Returns the type of a value in 8 bits. It is u8 only if no value with the same scale can be
  /// negative.
  model::DataType grid_type(model::ValueId value) {
    const model::ValueId first = scheme_.grid[value];
    for (model::ValueId other = 0; other < scheme_.grid.size(); ++other) {
      if (scheme_.grid[other] == first && !scheme_.non_negative[other]) {
        return model::DataType::kS8;
      }
    }
    return model::DataType::kU8;
  }

  model::ValueId scale_of(model::ValueId value) {
    const model::ValueId first = scheme_.grid[value];
    const auto known = scales_.find(first);
    if (known != scales_.end()) {
      return known->second;
    }
    FusedGraph::ActivationGrid grid;
    grid.type = grid_type(value);
    grid.scale = add_value(from_.graph.values[first].name + " scale",
                           constant_type(model::DataType::kF32, {}));
    for (model::ValueId other = 0; other < scheme_.grid.size(); ++other) {
      if (scheme_.grid[other] == first) {
        grid.of.push_back(other);
      }
    }
    scales_.emplace(first, grid.scale);
    result_.quantization.activations.push_back(std::move(grid));
    return scales_.at(first);
  }

  /// Returns the 8-bit form of a value. One layer makes it for all readers.
  model::ValueId eight_bit(model::ValueId value, model::LayerId reader) {
    if (scheme_.eight_bit[value]) {
      return value;
    }
    if (const auto known = rounded_.find(value); known != rounded_.end()) {
      return known->second;
    }
    model::TensorType type = from_.graph.values[value].type;
    type.dtype = grid_type(value);
    const std::string& name = from_.graph.values[value].name;
    const model::ValueId made = add_value(name + " (8-bit)", type);
    rounded_.emplace(value, made);
    model::Layer layer;
    layer.name = name + " (quantize)";
    layer.onnx_op = "QuantizeLinear";
    layer.spec.op = "quantize";
    layer.spec.attributes["axis"] = std::int64_t{0};
    layer.outputs = {made};
    Operands operands;
    operands.add(graph(), value);
    operands.add(graph(), scale_of(value));
    add(reader, finished(std::move(layer), std::move(operands)));
    return made;
  }

  model::Layer finished(model::Layer layer, Operands operands) {
    operands.trim();
    layer.spec.inputs = std::move(operands.types);
    layer.inputs = std::move(operands.values);
    layer.spec.outputs.clear();
    for (const model::ValueId output : layer.outputs) {
      layer.spec.outputs.push_back(graph().values[output].type);
    }
    layer.spec.accumulate = layer.spec.inputs[0]->dtype == model::DataType::kF32
                                ? model::DataType::kF32
                                : model::DataType::kS32;
    layer.key = model::to_key(layer.spec);
    layer.cost = model::compute_cost(layer.spec);
    return layer;
  }

  model::Layer mover(model::LayerId id) {
    model::Layer layer = from_.graph.layers[id];
    Operands operands;
    for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
      operands.add(graph(), eight_bit(*layer.inputs[i], id));
    }
    return finished(std::move(layer), std::move(operands));
  }

  /// Adds the weights in 8 bits and the scales of their channels. Products of matrices have [K, N].
  FusedGraph::QuantizedWeights weights(const model::Layer& layer) {
    const bool matrix = layer.spec.op != "conv";
    const bool turned = layer.spec.op == "gemm" && layer.spec.integer("trans_b") != 0;
    std::vector<std::int64_t> dims = layer.spec.inputs[1]->dims;
    if (turned) {
      std::swap(dims[0], dims[1]);
    }
    const std::int64_t channels = matrix ? dims[1] : dims[0];
    const model::ValueId before = *layer.inputs[1];
    const std::string& name = from_.graph.values[before].name;
    FusedGraph::QuantizedWeights made{
        before,
        add_value(name + " (8-bit)", constant_type(model::DataType::kS8, dims)),
        add_value(name + " scales", constant_type(model::DataType::kF32, {channels})),
        matrix && !turned};
    made.turned = turned;
    graph().weight_bytes =
        Bytes{graph().weight_bytes.value - model::byte_size(*layer.spec.inputs[1]).value +
              model::byte_size(graph().values[made.quantized].type).value};
    result_.quantization.weights.push_back(made);
    return made;
  }

  model::Layer product(model::LayerId id) {
    const model::Layer& before = from_.graph.layers[id];
    const model::ValueId x = *before.inputs[0];
    const model::ValueId y = before.outputs.at(0);
    model::Layer layer = before;
    Operands operands;
    operands.add(graph(), eight_bit(x, id));
    const FusedGraph::QuantizedWeights made = weights(before);
    operands.add(graph(), made.quantized);
    const bool convolution = before.spec.op == "conv";
    layer.spec.op = convolution ? "conv_integer" : "matmul_integer";
    if (convolution && before.spec.has_input(2)) {
      operands.take(before, 2);
    } else if (convolution) {
      operands.skip();
    }
    operands.skip();  // no zero points
    operands.skip();
    operands.add(graph(), scale_of(x));
    operands.add(graph(), made.scale);
    if (scheme_.eight_bit[y]) {
      operands.add(graph(), scale_of(y));
    } else {
      operands.skip();
    }
    operands.skip();
    layer.spec.epilogue.clear();
    if (!convolution) {
      layer.spec.attributes.clear();
    }
    if (before.spec.op == "gemm" && before.spec.has_input(2)) {
      layer.spec.epilogue.push_back({"add", {}, operands.take(before, 2)});
    }
    for (model::Epilogue step : before.spec.epilogue) {
      if (step.operand) {
        step.operand = operands.take(before, *step.operand);
      }
      layer.spec.epilogue.push_back(std::move(step));
    }
    return finished(std::move(layer), std::move(operands));
  }

  void set_producers() {
    for (model::Value& value : graph().values) {
      value.producer.reset();
    }
    for (model::LayerId id = 0; id < graph().layers.size(); ++id) {
      for (const model::ValueId output : graph().layers[id].outputs) {
        graph().values[output].producer = id;
      }
    }
  }

  const FusedGraph& from_;
  QuantizationScheme scheme_;
  FusedGraph result_;
  std::map<model::ValueId, model::ValueId> scales_;   // by the first value of a grid
  std::map<model::ValueId, model::ValueId> rounded_;  // values made by a quantize layer
};

}  // namespace

FusedGraph quantized_graph(const FusedGraph& fused) {
  return Quantizer(fused).run();
}

FusedGraph int8_graph(const model::Graph& graph) {
  const std::vector<Match> all = largest_matches(graph, [](const Match&) { return true; });
  return quantized_graph(fused_graph(graph, all));
}

}  // namespace plumb::rewrite
