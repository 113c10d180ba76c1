// SPDX-License-Identifier: Apache-2.0
#include "harness/model/onnx/values/node_view.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace plumb::model {
namespace {

const TensorType& type_of(const ModelValue* value, std::string_view role, std::size_t index) {
  if (value == nullptr) {
    throw Unsupported(fmt::format("{} {} is missing", role, index));
  }
  if (!value->type) {
    throw Unsupported(fmt::format("the shape or type of '{}' is not known", value->name));
  }
  return *value->type;
}

}  // namespace

const TensorType& NodeView::input_type(std::size_t index) const {
  return type_of(input(index), "input", index);
}

const TensorType& NodeView::output_type(std::size_t index) const {
  return type_of(output(index), "output", index);
}

const ConstantValue& NodeView::known(std::size_t index) const {
  ModelValue* value = input(index);
  const ConstantValue* found = value == nullptr ? nullptr : value->known();
  if (found == nullptr) {
    throw Unsupported(fmt::format("input {} must be known before the run", index));
  }
  return *found;
}

std::vector<std::int64_t> NodeView::known_integers(std::size_t index) const {
  const ConstantValue& value = known(index);
  if (value.is_real()) {
    throw Unsupported(fmt::format("input {} must hold integers", index));
  }
  return value.integers;
}

const onnx::AttributeProto* NodeView::attribute(std::string_view name) const {
  for (const onnx::AttributeProto& attribute : node_->attribute()) {
    if (attribute.name() == name) {
      return &attribute;
    }
  }
  return nullptr;
}

std::int64_t NodeView::integer(std::string_view name, std::int64_t otherwise) const {
  const onnx::AttributeProto* found = attribute(name);
  return found == nullptr ? otherwise : found->i();
}

double NodeView::real(std::string_view name, double otherwise) const {
  const onnx::AttributeProto* found = attribute(name);
  return found == nullptr ? otherwise : widen(found->f());
}

std::string NodeView::word(std::string_view name, std::string_view otherwise) const {
  const onnx::AttributeProto* found = attribute(name);
  return found == nullptr ? std::string(otherwise) : found->s();
}

std::optional<std::vector<std::int64_t>> NodeView::integers(std::string_view name) const {
  const onnx::AttributeProto* found = attribute(name);
  if (found == nullptr) {
    return std::nullopt;
  }
  return std::vector<std::int64_t>(found->ints().begin(), found->ints().end());
}

std::vector<double> NodeView::reals(std::string_view name) const {
  std::vector<double> values;
  if (const onnx::AttributeProto* found = attribute(name)) {
    for (const float value : found->floats()) {
      values.push_back(widen(value));
    }
  }
  return values;
}

std::int64_t NodeView::positive_axis(std::int64_t axis, std::size_t rank, bool inclusive) {
  const auto limit = static_cast<std::int64_t>(rank);
  if (axis < -limit || axis > limit || (axis == limit && !inclusive)) {
    throw Unsupported(fmt::format("axis {} of a tensor of rank {}", axis, rank));
  }
  return axis < 0 ? axis + limit : axis;
}

double widen(float value) {
  if (!std::isfinite(value)) {
    return static_cast<double>(value);
  }
  std::array<char, 32> text{};
  const auto [end, code] = std::to_chars(text.data(), text.data() + text.size(), value);
  double result = 0.0;
  std::from_chars(text.data(), end, result);
  return result;
}

}  // namespace plumb::model
