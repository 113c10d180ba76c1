// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/types/typed_graph.hpp"

#include <fmt/format.h>

#include <optional>

#include "harness/base/error.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "harness/rewrite/quantized_graph.hpp"
#include "harness/rewrite/rewrite.hpp"

namespace plumb::rewrite {

bool has_form(const model::Graph& graph, std::string_view type) {
  return (type != kInt8 && type != to_text(model::DataType::kF64)) || !is_step(graph);
}

namespace {

model::Graph typed_step(const model::Graph& step, std::string_view type) {
  const std::optional<model::DataType> floating = model::parse_data_type(type);
  if (floating == model::DataType::kBf16 || floating == model::DataType::kF16) {
    return mixed_precision_step(step, *floating);
  }
  if (floating == model::DataType::kF32) {
    return step;
  }
  throw Error(
      Error::Kind::kUser,
      fmt::format("a step of training is executed in f32, tf32, bf16 or f16, not in '{}'", type));
}

}  // namespace

model::Graph typed_graph(const model::Graph& graph, std::string_view type) {
  if (is_step(graph) && type != kTf32) {
    return typed_step(graph, type);
  }
  if (type == kInt8) {
    return int8_graph(graph).graph;
  }
  if (type == kTf32) {
    return with_tf32(graph);
  }
  const std::optional<model::DataType> floating = model::parse_data_type(type);
  if (!floating || !model::is_floating(*floating)) {
    throw Error(Error::Kind::kUser,
                fmt::format("dtype '{}' is not one of f64, f32, tf32, f16, bf16, int8", type));
  }
  return *floating == model::DataType::kF32 ? graph : with_precision(graph, *floating);
}

}  // namespace plumb::rewrite
