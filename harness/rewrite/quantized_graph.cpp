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

namespace plumb {
namespace {

TensorType constant_type(DataType type, std::vector<std::int64_t> dims) {
  return {.dtype = type, .dims = std::move(dims), .constant = true, .strides = {}};
}

/// Operands of a layer that is being made.
struct Operands {
  std::vector<std::optional<TensorType>> types;
  std::vector<std::optional<ValueId>> values;

  void add(const Graph& graph, ValueId value) {
    types.emplace_back(graph.values[value].type);
    values.emplace_back(value);
  }
  void skip() {
    types.emplace_back();
    values.emplace_back();
  }
  /// Adds an operand of another layer, with the type in that layer's key. Returns its index.
  std::size_t take(const Layer& layer, std::size_t index) {
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
    for (ValueId value = 0; value < scheme_.eight_bit.size(); ++value) {
      if (scheme_.eight_bit[value]) {
        graph().values[value].type.dtype = grid_type(value);
      }
    }
    for (LayerId id = 0; id < from_.graph.layers.size(); ++id) {
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
  Graph& graph() { return result_.graph; }

  void add(LayerId origin, Layer layer) {
    graph().layers.push_back(std::move(layer));
    result_.origins.push_back(from_.origins[origin]);
  }

  ValueId add_value(const std::string& name, const TensorType& type) {
    graph().values.push_back({name, type, {}, {}});
    return graph().values.size() - 1;
  }

  /// Returns the type of a value in 8 bits. It is u8 only if no value with the same scale can be
  /// negative.
  DataType grid_type(ValueId value) {
    const ValueId first = scheme_.grid[value];
    for (ValueId other = 0; other < scheme_.grid.size(); ++other) {
      if (scheme_.grid[other] == first && !scheme_.non_negative[other]) {
        return DataType::kS8;
      }
    }
    return DataType::kU8;
  }

  ValueId scale_of(ValueId value) {
    const ValueId first = scheme_.grid[value];
    const auto known = scales_.find(first);
    if (known != scales_.end()) {
      return known->second;
    }
    ActivationGrid grid;
    grid.type = grid_type(value);
    grid.scale =
        add_value(from_.graph.values[first].name + " scale", constant_type(DataType::kF32, {}));
    for (ValueId other = 0; other < scheme_.grid.size(); ++other) {
      if (scheme_.grid[other] == first) {
        grid.of.push_back(other);
      }
    }
    scales_.emplace(first, grid.scale);
    result_.quantization.activations.push_back(std::move(grid));
    return scales_.at(first);
  }

  /// Returns the 8-bit form of a value. One layer makes it for all readers.
  ValueId eight_bit(ValueId value, LayerId reader) {
    if (scheme_.eight_bit[value]) {
      return value;
    }
    if (const auto known = rounded_.find(value); known != rounded_.end()) {
      return known->second;
    }
    TensorType type = from_.graph.values[value].type;
    type.dtype = grid_type(value);
    const std::string& name = from_.graph.values[value].name;
    const ValueId made = add_value(name + " (8-bit)", type);
    rounded_.emplace(value, made);
    Layer layer;
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

  Layer finished(Layer layer, Operands operands) {
    operands.trim();
    layer.spec.inputs = std::move(operands.types);
    layer.inputs = std::move(operands.values);
    layer.spec.outputs.clear();
    for (const ValueId output : layer.outputs) {
      layer.spec.outputs.push_back(graph().values[output].type);
    }
    layer.spec.accumulate =
        layer.spec.inputs[0]->dtype == DataType::kF32 ? DataType::kF32 : DataType::kS32;
    layer.key = to_key(layer.spec);
    layer.cost = cost_of(layer.spec);
    return layer;
  }

  Layer mover(LayerId id) {
    Layer layer = from_.graph.layers[id];
    Operands operands;
    for (std::size_t i = 0; i < layer.spec.inputs.size(); ++i) {
      operands.add(graph(), eight_bit(*layer.inputs[i], id));
    }
    return finished(std::move(layer), std::move(operands));
  }

  /// Adds the weights in 8 bits and the scales of their channels. Products of matrices have [K, N].
  QuantizedWeights weights(const Layer& layer) {
    const bool matrix = layer.spec.op != "conv";
    const bool turned = layer.spec.op == "gemm" && layer.spec.integer("trans_b") != 0;
    std::vector<std::int64_t> dims = layer.spec.inputs[1]->dims;
    if (turned) {
      std::swap(dims[0], dims[1]);
    }
    const std::int64_t channels = matrix ? dims[1] : dims[0];
    const ValueId before = *layer.inputs[1];
    const std::string& name = from_.graph.values[before].name;
    QuantizedWeights made{before,
                          add_value(name + " (8-bit)", constant_type(DataType::kS8, dims)),
                          add_value(name + " scales", constant_type(DataType::kF32, {channels})),
                          matrix && !turned};
    made.turned = turned;
    graph().weight_bytes =
        Bytes{graph().weight_bytes.value - byte_size(*layer.spec.inputs[1]).value +
              byte_size(graph().values[made.quantized].type).value};
    result_.quantization.weights.push_back(made);
    return made;
  }

  Layer product(LayerId id) {
    const Layer& before = from_.graph.layers[id];
    const ValueId x = *before.inputs[0];
    const ValueId y = before.outputs.at(0);
    Layer layer = before;
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
    for (Epilogue step : before.spec.epilogue) {
      if (step.operand) {
        step.operand = operands.take(before, *step.operand);
      }
      layer.spec.epilogue.push_back(std::move(step));
    }
    return finished(std::move(layer), std::move(operands));
  }

  void set_producers() {
    for (Value& value : graph().values) {
      value.producer.reset();
    }
    for (LayerId id = 0; id < graph().layers.size(); ++id) {
      for (const ValueId output : graph().layers[id].outputs) {
        graph().values[output].producer = id;
      }
    }
  }

  const FusedGraph& from_;
  QuantizationScheme scheme_;
  FusedGraph result_;
  std::map<ValueId, ValueId> scales_;   // by the first value of a grid
  std::map<ValueId, ValueId> rounded_;  // values made by a quantize layer
};

}  // namespace

FusedGraph quantized_graph(const FusedGraph& fused) {
  return Quantizer(fused).run();
}

FusedGraph int8_graph(const Graph& graph) {
  const std::vector<Match> all = largest_matches(graph, [](const Match&) { return true; });
  return quantized_graph(fused_graph(graph, all));
}

}  // namespace plumb
