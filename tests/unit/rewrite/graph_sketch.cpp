// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::rewrite {

model::ValueId GraphSketch::input(const Dims& dims, model::DataType type) {
  const model::ValueId id = graph_.values.size();
  graph_.values.push_back(
      model::Value{"x" + std::to_string(id), model::TensorType{type, dims, false, {}}, {}, {}});
  graph_.inputs.push_back(id);
  return id;
}

model::ValueId GraphSketch::weight(const Dims& dims, std::optional<double> scalar) {
  const model::ValueId id = graph_.values.size();
  const model::TensorType type{model::DataType::kF32, dims, true, {}};
  graph_.values.push_back(model::Value{"w" + std::to_string(id), type, {}, scalar});
  graph_.parameters += element_count(type);
  graph_.weight_bytes += model::byte_size(type);
  return id;
}

model::ValueId GraphSketch::layer(const std::string& op,
                                  const std::vector<std::optional<model::ValueId>>& inputs,
                                  const Dims& out,
                                  std::map<std::string, model::Attribute> attributes) {
  const model::ValueId result = graph_.values.size();
  const model::LayerId id = graph_.layers.size();
  const model::TensorType type{graph_.values[*inputs.front()].type.dtype, out, false, {}};
  graph_.values.push_back(model::Value{op + std::to_string(id) + ".out", type, id, {}});
  model::Layer layer;
  layer.name = op + std::to_string(id);
  layer.onnx_op = op;
  layer.role = op == "view" ? model::Layer::Role::kView : model::Layer::Role::kCompute;
  layer.spec.op = op;
  for (const std::optional<model::ValueId>& input : inputs) {
    layer.spec.inputs.push_back(input ? std::optional(graph_.values[*input].type) : std::nullopt);
  }
  layer.spec.outputs = {type};
  layer.spec.attributes = std::move(attributes);
  layer.inputs = inputs;
  layer.outputs = {result};
  layer.key = model::to_key(layer.spec);
  layer.cost = model::compute_cost(layer.spec);
  graph_.layers.push_back(std::move(layer));
  return result;
}

model::ValueId GraphSketch::conv(model::ValueId x,
                                 std::int64_t filters,
                                 std::int64_t r,
                                 bool bias) {
  const Dims from = dims(x);
  std::vector<std::optional<model::ValueId>> inputs{x, weight({filters, from[1], r, r})};
  if (bias) {
    inputs.emplace_back(weight({filters}));
  }
  const std::int64_t pad = r / 2;
  return layer("conv",
               inputs,
               {from[0], filters, from[2], from[3]},
               {{"dilations", Dims{1, 1}},
                {"group", std::int64_t{1}},
                {"pads", Dims{pad, pad, pad, pad}},
                {"strides", Dims{1, 1}}});
}

model::ValueId GraphSketch::batch_norm(model::ValueId x) {
  const Dims from = dims(x);
  std::vector<std::optional<model::ValueId>> inputs{x};
  for (int i = 0; i < 4; ++i) {
    inputs.emplace_back(weight({from[1]}));
  }
  return layer("batch_norm", inputs, from, {{"epsilon", 1e-5}, {"mode", std::string("spatial")}});
}

model::ValueId GraphSketch::eltwise(model::ValueId x,
                                    const std::string& fn,
                                    std::vector<double> parameters) {
  return layer("eltwise", {x}, dims(x), {{"fn", fn}, {"parameters", std::move(parameters)}});
}

model::ValueId GraphSketch::binary(const std::string& fn, model::ValueId a, model::ValueId b) {
  return layer(
      "binary", {a, b}, dims(a).size() >= dims(b).size() ? dims(a) : dims(b), {{"fn", fn}});
}

model::ValueId GraphSketch::matmul(model::ValueId x, std::int64_t columns) {
  Dims out = dims(x);
  const model::ValueId w = weight({out.back(), columns});
  out.back() = columns;
  return layer("matmul", {x, w}, out);
}

model::ValueId GraphSketch::gemm(model::ValueId x, std::int64_t columns) {
  const Dims from = dims(x);
  return layer(
      "gemm",
      {x, weight({from[1], columns}), weight({columns})},
      {from[0], columns},
      {{"alpha", 1.0}, {"beta", 1.0}, {"trans_a", std::int64_t{0}}, {"trans_b", std::int64_t{0}}});
}

model::ValueId GraphSketch::mean(model::ValueId x) {
  Dims out = dims(x);
  const auto axis = static_cast<std::int64_t>(out.size()) - 1;
  out.back() = 1;
  return layer("reduce",
               {x},
               out,
               {{"axes", Dims{axis}}, {"fn", std::string("mean")}, {"keepdims", std::int64_t{1}}});
}

model::ValueId GraphSketch::view(model::ValueId x, const Dims& out) {
  return layer("view", {x}, out);
}

void GraphSketch::unsupported(const std::string& reason) {
  model::Layer& layer = graph_.layers.back();
  layer.role = model::Layer::Role::kUnsupported;
  layer.reason = reason;
  layer.spec = {};
  layer.key = {};
}

model::Graph GraphSketch::build(std::initializer_list<model::ValueId> outputs) const {
  model::Graph graph = graph_;
  graph.name = "handmade";
  graph.outputs = outputs;
  return graph;
}

}  // namespace plumb::rewrite
