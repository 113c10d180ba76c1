// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/values/value_origin.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace plumb::model {
namespace {

using Origin = ModelValue::Origin;

constexpr std::int64_t kFewNumbers = 64;

constexpr std::array<std::string_view, 6> kRandom = {"RandomNormal",
                                                     "RandomNormalLike",
                                                     "RandomUniform",
                                                     "Bernoulli",
                                                     "RandomUniformLike",
                                                     "Multinomial"};

bool is_integer(DataType type) {
  return type == DataType::kS64 || type == DataType::kS32 || type == DataType::kBool;
}

bool is_large_weight(const ModelValue& value) {
  return value.origin == Origin::kWeight && value.type && is_floating(value.type->dtype) &&
         element_count(*value.type) > kFewNumbers;
}

}  // namespace

bool is_default_domain(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx";
}

bool has_subgraph(const onnx::NodeProto& node) {
  return std::any_of(
      node.attribute().begin(), node.attribute().end(), [](const onnx::AttributeProto& attribute) {
        return attribute.has_g() || attribute.graphs_size() > 0;
      });
}

Origin find_origin(const NodeView& node) {
  if (is_default_domain(node.proto().domain())) {
    if (node.op() == "Shape" || node.op() == "Size") {
      return Origin::kShape;
    }
    if (std::find(kRandom.begin(), kRandom.end(), node.op()) != kRandom.end()) {
      return Origin::kData;
    }
  }
  if (has_subgraph(node.proto())) {
    return Origin::kData;  // a subgraph may read any value around it
  }
  bool shape = false;
  bool weight = false;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    const ModelValue* input = node.input(i);
    if (input == nullptr) {
      continue;
    }
    if (input->origin == Origin::kData) {
      return Origin::kData;
    }
    shape = shape || input->origin == Origin::kShape;
    weight = weight || is_large_weight(*input);
  }
  return shape && !weight ? Origin::kShape : Origin::kWeight;
}

bool all_inputs_typed(const NodeView& node) {
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    if (node.has_input(i) && !node.input(i)->type) {
      return false;
    }
  }
  return true;
}

bool is_worth_evaluating(const NodeView& node) {
  const ModelValue* output = node.output(0);
  if (output == nullptr || output->origin == Origin::kData || !output->type) {
    return false;
  }
  return output->origin == Origin::kShape || is_integer(output->type->dtype) ||
         element_count(*output->type) <= kFewNumbers;
}

bool is_index_arithmetic(const NodeView& node) {
  for (std::size_t i = 0; i < node.output_count(); ++i) {
    const ModelValue* output = node.output(i);
    if (output != nullptr &&
        (!output->type || !is_integer(output->type->dtype) || output->type->dims.size() > 1)) {
      return false;
    }
  }
  return true;
}

}  // namespace plumb::model
