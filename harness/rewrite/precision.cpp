// SPDX-License-Identifier: Apache-2.0
#include "harness/base/error.hpp"
#include "harness/rewrite/rewrite.hpp"

namespace plumb {
namespace {

void retype(TensorType& type, DataType to) {
  if (type.dtype == DataType::kF32) {
    type.dtype = to;
  }
}

void retype(Layer& layer, DataType to) {
  for (std::optional<TensorType>& input : layer.spec.inputs) {
    if (input) {
      retype(*input, to);
    }
  }
  for (TensorType& output : layer.spec.outputs) {
    retype(output, to);
  }
  try {
    layer.key = to_key(layer.spec);
    layer.cost = cost_of(layer.spec);
  } catch (const Error& error) {
    layer.role = Layer::Role::kUnsupported;
    layer.reason = error.what();
    layer.key = {};
    layer.cost = {};
  }
}

}  // namespace

Graph with_precision(const Graph& graph, DataType type) {
  PLUMB_CHECK(is_floating(type));
  Graph result = graph;
  for (ValueId id = 0; id < result.values.size(); ++id) {
    Value& value = result.values[id];
    const Bytes before = value.type.dtype == DataType::kString ? Bytes{} : byte_size(value.type);
    retype(value.type, type);
    if (value.type.constant && !value.producer && value.type.dtype != DataType::kString) {
      result.weight_bytes += Bytes{byte_size(value.type).value - before.value};
    }
  }
  for (Layer& layer : result.layers) {
    if (layer.role == Layer::Role::kCompute || layer.role == Layer::Role::kView) {
      retype(layer, type);
    }
  }
  return result;
}

}  // namespace plumb
