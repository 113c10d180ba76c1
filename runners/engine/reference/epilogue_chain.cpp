// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/reference/epilogue_chain.hpp"

#include "harness/model/key/op_schema.hpp"
#include "harness/model/key/quantized_product.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb::engine::reference {

namespace {

/// Reads the bit of an element. Each row begins at a byte, with its first bit lowest.
bool read_bit(const model::Tensor& mask, std::size_t row, std::size_t element) {
  const auto bytes_of_row = static_cast<std::size_t>(mask.type.dims.back());
  const std::size_t column = element % row;
  const std::byte byte = mask.data.at(element / row * bytes_of_row + column / 8);
  return ((byte >> (column % 8)) & std::byte{1}) != std::byte{0};
}

}  // namespace

EpilogueChain::EpilogueChain(const model::LayerSpec& spec, std::span<const model::Tensor> operands)
    : requantization_(spec, operands),
      scaled_(model::is_integer_product(spec) &&
              spec.has_input(model::quantized_product(spec).w_scale)) {
  for (const model::Epilogue& epilogue : spec.epilogue) {
    Step step;
    if (epilogue.operand) {
      require(spec.has_input(*epilogue.operand) && *epilogue.operand < operands.size(),
              spec,
              "an epilogue's operand is missing");
      step.operand = &operands[*epilogue.operand];
      if (epilogue.fn == model::kBitMask) {
        require(!spec.outputs[0].dims.empty(), spec, "a scalar has no mask of bits");
        step.row = static_cast<std::size_t>(spec.outputs[0].dims.back());
        steps_.push_back(std::move(step));
        continue;
      }
      step.broadcast.emplace(spec, step.operand->type.dims, spec.outputs[0].dims);
      if (const std::optional<std::string_view> fn = model::function_of_gradient(epilogue.fn)) {
        const std::optional<Unary> derivative = find_derivative(*fn);
        require(derivative && derivative->parameters == epilogue.parameters.size(),
                spec,
                "an epilogue's gradient or its parameters are unknown");
        step.derivative = derivative->function;
        step.parameters = epilogue.parameters;
        steps_.push_back(std::move(step));
        continue;
      }
      step.binary = find_binary(epilogue.fn, !model::is_floating(step.operand->type.dtype));
      require(step.binary != nullptr, spec, "an epilogue's binary function is unknown");
    } else {
      const std::optional<Unary> unary = find_unary(epilogue.fn);
      require(unary && unary->parameters == epilogue.parameters.size(),
              spec,
              "an epilogue's function or its parameters are unknown");
      step.unary = unary->function;
      step.parameters = epilogue.parameters;
    }
    steps_.push_back(std::move(step));
  }
}

double EpilogueChain::operator()(double value, std::size_t element) const {
  value = requantization_.real(value, element);
  for (const Step& step : steps_) {
    if (step.unary != nullptr) {
      value = step.unary(value, step.parameters);
    } else if (step.row != 0) {
      value = read_bit(*step.operand, step.row, element) ? value : 0.0;
    } else {
      const double other = number_at(*step.operand, (*step.broadcast)(element));
      value = step.derivative != nullptr ? value * step.derivative(other, step.parameters)
                                         : step.binary(value, other);
    }
  }
  return requantization_.stored(value);
}

model::LayerSpec without_epilogue(const model::LayerSpec& spec) {
  model::LayerSpec own = spec;
  own.epilogue.clear();
  for (const model::Epilogue& epilogue : spec.epilogue) {
    if (epilogue.operand && *epilogue.operand < own.inputs.size()) {
      own.inputs.resize(*epilogue.operand);
    }
  }
  return own;
}

}  // namespace plumb::engine::reference
