// SPDX-License-Identifier: Apache-2.0
#include "harness/model/key/layer_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "harness/base/error.hpp"
#include "harness/model/key/op_schema.hpp"

namespace plumb::model {
namespace {

[[noreturn]] void fail_spec(const LayerSpec& spec, std::string_view problem) {
  throw Error(Error::Kind::kInternal,
              fmt::format("a layer specification of operator '{}' {}", spec.op, problem));
}

template <typename T>
const T& attribute_of(const LayerSpec& spec, const std::string& name) {
  const auto found = spec.attributes.find(name);
  if (found == spec.attributes.end()) {
    fail_spec(spec, fmt::format("has no attribute '{}'", name));
  }
  const T* value = std::get_if<T>(&found->second);
  if (value == nullptr) {
    fail_spec(spec, fmt::format("holds attribute '{}' in another type", name));
  }
  return *value;
}

void append(std::string& text, std::int64_t number) {
  std::array<char, 24> buffer{};
  const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  text.append(buffer.data(), end);
}

void append(std::string& text, double number) {
  if (std::isnan(number)) {
    text += "nan";
    return;
  }
  if (number == 0.0) {
    number = 0.0;  // equal specs give equal keys: -0.0 is written as 0.0
  }
  std::array<char, 32> buffer{};
  const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  const std::string_view digits(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  text += digits;
  if (digits.find_first_of(".en") == std::string_view::npos) {
    text += ".0";
  }
}

void append(std::string& text, const std::string& word) {
  text += word;
}

template <typename T>
void append(std::string& text, const std::vector<T>& list) {
  text += '[';
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i != 0) {
      text += ',';
    }
    append(text, list[i]);
  }
  text += ']';
}

void append(std::string& text, const TensorType& type) {
  text += to_text(type.dtype);
  append(text, type.dims);
  if (!type.strides.empty()) {
    text += '%';
    append(text, type.strides);
  }
  if (type.constant) {
    text += 'c';
  }
}

void append_inputs(std::string& text, const LayerSpec& spec) {
  std::size_t count = spec.inputs.size();
  while (count > 0 && !spec.inputs[count - 1]) {
    --count;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (i != 0) {
      text += ',';
    }
    if (spec.inputs[i]) {
      append(text, *spec.inputs[i]);
    } else {
      text += '-';
    }
  }
}

void append_epilogue(std::string& text, const std::vector<Epilogue>& epilogue) {
  for (std::size_t i = 0; i < epilogue.size(); ++i) {
    const Epilogue& step = epilogue[i];
    text += i == 0 ? ";epilogue=" : ",";
    text += step.fn;
    if (!step.parameters.empty()) {
      text += '(';
      for (std::size_t j = 0; j < step.parameters.size(); ++j) {
        text += j == 0 ? "" : ",";
        append(text, step.parameters[j]);
      }
      text += ')';
    }
    if (step.operand) {
      text += '@';
      append(text, static_cast<std::int64_t>(*step.operand));
    }
  }
}

void check_attributes(const LayerSpec& spec, const OpSchema& schema) {
  const std::size_t count = schema.attribute_count();
  for (std::size_t i = 0; i < count; ++i) {
    const OpSchema::Attribute& row = schema.attributes[i];
    const auto found = spec.attributes.find(std::string(row.name));
    if (found == spec.attributes.end()) {
      fail_spec(spec, fmt::format("has no attribute '{}'", row.name));
    }
    if (found->second.index() != static_cast<std::size_t>(row.kind)) {
      fail_spec(spec, fmt::format("holds attribute '{}' in another type", row.name));
    }
  }
  if (spec.attributes.size() != count) {
    for (const auto& [name, value] : spec.attributes) {
      bool known = false;
      for (std::size_t i = 0; i < count; ++i) {
        known = known || schema.attributes[i].name == name;
      }
      if (!known) {
        fail_spec(spec, fmt::format("has an attribute '{}' that the operator does not take", name));
      }
    }
  }
}

}  // namespace

std::string_view to_text(LayerSpec::MathClass math) {
  switch (math) {
    case LayerSpec::MathClass::kStrict:
      return "strict";
    case LayerSpec::MathClass::kTf32:
      return "tf32";
    case LayerSpec::MathClass::kDownConvert:
      return "downconvert";
    case LayerSpec::MathClass::kDeterministic:
      return "deterministic";
  }
  fail_check("a known math class", __FILE__, __LINE__);
}

std::int64_t LayerSpec::integer(const std::string& name) const {
  return attribute_of<std::int64_t>(*this, name);
}

double LayerSpec::real(const std::string& name) const {
  return attribute_of<double>(*this, name);
}

const std::string& LayerSpec::text(const std::string& name) const {
  return attribute_of<std::string>(*this, name);
}

const std::vector<std::int64_t>& LayerSpec::integers(const std::string& name) const {
  return attribute_of<std::vector<std::int64_t>>(*this, name);
}

const std::vector<double>& LayerSpec::reals(const std::string& name) const {
  return attribute_of<std::vector<double>>(*this, name);
}

std::string_view operator_name(std::string_view key) {
  const std::size_t begin = std::min(key.find(':') + 1, key.size());
  return key.substr(begin, key.find(';', begin) - begin);
}

LayerKey to_key(const LayerSpec& spec) {
  const OpSchema* schema = find_op_schema(spec.op);
  if (schema == nullptr) {
    fail_spec(spec, "is not of the layer-key vocabulary");
  }
  check_attributes(spec, *schema);

  LayerKey key;
  std::string& text = key.text;
  text.reserve(256);
  text += kKeyVersion;
  text += spec.op;
  text += ";in=";
  append_inputs(text, spec);
  text += ";out=";
  for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
    text += i == 0 ? "" : ",";
    append(text, spec.outputs[i]);
  }
  text += ";acc=";
  text += to_text(spec.accumulate);
  text += ";math=";
  text += to_text(spec.math);
  for (const auto& [name, value] : spec.attributes) {
    text += ';';
    text += name;
    text += '=';
    std::visit([&text](const auto& held) { append(text, held); }, value);
  }
  append_epilogue(text, spec.epilogue);
  return key;
}

std::optional<std::int64_t> find_batch(const LayerSpec& spec) {
  const bool convolves = spec.op == "conv" || spec.op == "conv_backward_data" || adds_parts(spec);
  return convolves && spec.has_input(0) ? std::optional(spec.inputs[0]->dims.at(0)) : std::nullopt;
}

bool has_images(const LayerSpec& spec, std::size_t operand) {
  constexpr std::size_t kFirstSummand = 3;  // operands 1 and 2 of a convolution: weights and bias
  const TensorType& images = spec.inputs.at(0).value();
  if (operand == 0 || (operand == 1 && adds_parts(spec))) {
    return true;
  }
  return operand >= kFirstSummand && spec.has_input(operand) &&
         spec.inputs[operand]->dims.size() == images.dims.size() &&
         spec.inputs[operand]->dims[0] == images.dims[0] && !spec.inputs[operand]->constant;
}

bool adds_parts(const LayerSpec& spec) {
  return spec.op == "conv_backward_weights";
}

std::vector<LayerKey> part_additions(const LayerSpec& spec) {
  std::vector<LayerKey> additions;
  for (const TensorType& sum : adds_parts(spec) ? spec.outputs : std::vector<TensorType>{}) {
    LayerSpec addition;
    addition.op = "binary";
    addition.inputs = {sum, sum};
    addition.outputs = {sum};
    addition.accumulate = spec.accumulate;
    addition.math = spec.math;
    addition.attributes = {{"fn", std::string("add")}};
    additions.push_back(to_key(addition));
  }
  return additions;
}

LayerSpec with_batch(LayerSpec spec, std::int64_t batch) {
  PLUMB_CHECK(find_batch(spec).has_value() && batch > 0);
  const LayerSpec whole = spec;
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    if (has_images(whole, i)) {
      spec.inputs[i]->dims[0] = batch;
    }
  }
  if (!adds_parts(spec)) {
    spec.outputs.at(0).dims[0] = batch;
  }
  return spec;
}

}  // namespace plumb::model
