// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/key/product_kind.hpp"
#include "harness/rewrite/rewrite.hpp"

namespace plumb::rewrite {
namespace {

void retype(model::TensorType& type, model::DataType to) {
  if (type.dtype == model::DataType::kF32) {
    type.dtype = to;
  }
}

void retype(model::Layer& layer, model::DataType to) {
  for (std::optional<model::TensorType>& input : layer.spec.inputs) {
    if (input) {
      retype(*input, to);
    }
  }
  for (model::TensorType& output : layer.spec.outputs) {
    retype(output, to);
  }
  rekey(layer);
}

bool computes_f32(const model::LayerSpec& spec) {
  return spec.has_input(0) && spec.inputs[0]->dtype == model::DataType::kF32 &&
         spec.outputs.front().dtype == model::DataType::kF32;
}

}  // namespace

void rekey(model::Layer& layer) {
  try {
    layer.key = model::to_key(layer.spec);
    layer.cost = model::compute_cost(layer.spec);
  } catch (const Error& error) {
    layer.role = model::Layer::Role::kUnsupported;
    layer.reason = error.what();
    layer.key = {};
    layer.cost = {};
  }
}

model::Graph with_precision(const model::Graph& graph, model::DataType type) {
  PLUMB_CHECK(model::is_floating(type));
  model::Graph result = graph;
  for (model::ValueId id = 0; id < result.values.size(); ++id) {
    model::Value& value = result.values[id];
    const Bytes before =
        value.type.dtype == model::DataType::kString ? Bytes{} : model::byte_size(value.type);
    retype(value.type, type);
    if (value.type.constant && !value.producer && value.type.dtype != model::DataType::kString) {
      result.weight_bytes += Bytes{model::byte_size(value.type).value - before.value};
    }
  }
  for (model::Layer& layer : result.layers) {
    if (layer.role == model::Layer::Role::kCompute || layer.role == model::Layer::Role::kView) {
      retype(layer, type);
    }
  }
  return result;
}

model::LayerSpec with_tf32(model::LayerSpec spec) {
  if (spec.math == model::MathClass::kStrict && model::is_floating_product(spec) &&
      computes_f32(spec)) {
    spec.math = model::MathClass::kTf32;
  }
  return spec;
}

model::Graph with_tf32(const model::Graph& graph) {
  model::Graph result = graph;
  for (model::Layer& layer : result.layers) {
    if (layer.role == model::Layer::Role::kCompute) {
      layer.spec = with_tf32(std::move(layer.spec));
      rekey(layer);
    }
  }
  return result;
}

}  // namespace plumb::rewrite
