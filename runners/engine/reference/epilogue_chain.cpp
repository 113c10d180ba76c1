// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/reference/epilogue_chain.hpp"

#include "harness/model/quantized_product.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb::reference {

EpilogueChain::EpilogueChain(const LayerSpec& spec, std::span<const Tensor> operands)
    : requantization_(spec, operands),
      scaled_(is_integer_product(spec) && spec.has_input(quantized_product(spec).w_scale)) {
  for (const Epilogue& epilogue : spec.epilogue) {
    Step step;
    if (epilogue.operand) {
      require(spec.has_input(*epilogue.operand) && *epilogue.operand < operands.size(),
              spec,
              "an epilogue's operand is missing");
      step.operand = &operands[*epilogue.operand];
      step.binary = find_binary(epilogue.fn, !is_floating(step.operand->type.dtype));
      require(step.binary != nullptr, spec, "an epilogue's binary function is unknown");
      step.broadcast.emplace(spec, step.operand->type.dims, spec.outputs[0].dims);
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
    value = step.unary != nullptr
                ? step.unary(value, step.parameters)
                : step.binary(value, number_at(*step.operand, (*step.broadcast)(element)));
  }
  return requantization_.stored(value);
}

LayerSpec without_epilogue(const LayerSpec& spec) {
  LayerSpec own = spec;
  own.epilogue.clear();
  for (const Epilogue& epilogue : spec.epilogue) {
    if (epilogue.operand && *epilogue.operand < own.inputs.size()) {
      own.inputs.resize(*epilogue.operand);
    }
  }
  return own;
}

}  // namespace plumb::reference
