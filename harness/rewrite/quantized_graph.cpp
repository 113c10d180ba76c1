// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/quantized_graph.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/key/quantized_product.hpp"
#include "harness/rewrite/quantization_scheme.hpp"
#include "harness/rewrite/rewrite.hpp"

namespace plumb::rewrite {
namespace {

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
    ActivationGrid grid;
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
  QuantizedWeights weights(const model::Layer& layer) {
    const bool matrix = layer.spec.op != "conv";
    const bool turned = layer.spec.op == "gemm" && layer.spec.integer("trans_b") != 0;
    std::vector<std::int64_t> dims = layer.spec.inputs[1]->dims;
    if (turned) {
      std::swap(dims[0], dims[1]);
    }
    const std::int64_t channels = matrix ? dims[1] : dims[0];
    const model::ValueId before = *layer.inputs[1];
    const std::string& name = from_.graph.values[before].name;
    QuantizedWeights made{
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
    const QuantizedWeights made = weights(before);
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
