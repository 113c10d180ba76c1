// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "harness/model/key/op_schema.hpp"
#include "harness/rewrite/gradient/gradient_rule.hpp"

namespace plumb::rewrite {
namespace {

/// Writes dy · f'(x).
model::ValueId through(LayerGradient& gradient,
                       const std::string& fn,
                       model::ValueId x,
                       std::vector<double> parameters = {}) {
  return gradient.writer.layer("eltwise_backward",
                               {gradient.dy(), x},
                               gradient.writer.dims(x),
                               {{"fn", fn}, {"parameters", std::move(parameters)}});
}

/// Gives the first operand dy where a condition holds, and the second one the rest of it.
void give_by(LayerGradient& gradient,
             model::ValueId condition,
             std::size_t where_true,
             std::size_t where_false) {
  LayerWriter& writer = gradient.writer;
  const model::ValueId mask = writer.cast(condition, writer.type(gradient.dy()));
  const model::ValueId held = writer.binary("mul", gradient.dy(), mask);
  if (gradient.wants(where_true)) {
    gradient.give(where_true, held);
  }
  if (gradient.wants(where_false)) {
    gradient.give(where_false, writer.binary("sub", gradient.dy(), held));
  }
}

void give_product(LayerGradient& gradient) {
  for (const std::size_t operand : {0U, 1U}) {
    if (gradient.wants(operand)) {
      gradient.give(operand,
                    gradient.writer.binary("mul", gradient.dy(), gradient.input(1 - operand)));
    }
  }
}

void give_quotient(LayerGradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const model::ValueId ratio = writer.binary("div", gradient.dy(), gradient.input(1));
  if (gradient.wants(0)) {
    gradient.give(0, ratio);
  }
  if (gradient.wants(1)) {
    gradient.give(1, writer.eltwise("neg", writer.binary("mul", ratio, gradient.output())));
  }
}

void give_power(LayerGradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const model::ValueId a = gradient.input(0);
  const model::ValueId b = gradient.input(1);
  if (gradient.wants(0)) {
    const model::ValueId less_one = writer.eltwise("linear", b, {1.0, -1.0});
    const model::ValueId slope = writer.binary("mul", writer.binary("pow", a, less_one), b);
    gradient.give(0, writer.binary("mul", gradient.dy(), slope));
  }
  if (gradient.wants(1)) {
    const model::ValueId slope = writer.binary("mul", gradient.output(), writer.eltwise("log", a));
    gradient.give(1, writer.binary("mul", gradient.dy(), slope));
  }
}

/// Returns whether a function has the same derivative at its result as at its operand. Both have
/// the same sign or are zero.
bool has_slope_of_result(const std::string& fn, const std::vector<double>& parameters) {
  return fn == "relu" || (fn == "leaky_relu" && parameters.front() >= 0.0);
}

}  // namespace

std::optional<std::string> eltwise_gradient(LayerGradient& gradient) {
  const std::string& fn = gradient.layer.spec.text("fn");
  const std::vector<double>& parameters = gradient.layer.spec.reals("parameters");
  if (!model::function_of_gradient(fn + "_backward")) {
    return fmt::format("'{}' has no derivative", fn);
  }
  // The next layer's gradient often reads the result too. So the operand need not be kept, and the
  // function can be fused with the layer before it.
  const model::ValueId x =
      has_slope_of_result(fn, parameters) ? gradient.output() : gradient.input(0);
  gradient.give(0, through(gradient, fn, x, parameters));
  return {};
}

// prelu(x) is relu(x) + slope · (x − relu(x)).
std::optional<std::string> prelu_gradient(LayerGradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const model::ValueId above = through(gradient, "relu", gradient.input(0));
  const model::ValueId below = writer.binary("sub", gradient.dy(), above);
  if (gradient.wants(0)) {
    gradient.give(0, writer.binary("add", above, writer.binary("mul", below, gradient.input(1))));
  }
  if (gradient.wants(1)) {
    gradient.give(1, writer.binary("mul", below, gradient.input(0)));
  }
  return {};
}

std::optional<std::string> binary_gradient(LayerGradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const std::string& fn = gradient.layer.spec.text("fn");
  if (fn == "add" || fn == "sub") {
    if (gradient.wants(0)) {
      gradient.give(0, gradient.dy());
    }
    if (gradient.wants(1)) {
      // Summed first: the operand is often a bias.
      const model::ValueId sum = writer.unbroadcast(gradient.dy(), writer.dims(gradient.input(1)));
      gradient.give(1, fn == "add" ? sum : writer.eltwise("neg", sum));
    }
  } else if (fn == "mul") {
    give_product(gradient);
  } else if (fn == "div") {
    give_quotient(gradient);
  } else if (fn == "pow") {
    give_power(gradient);
  } else if (fn == "max" || fn == "min") {
    const std::string_view holds = fn == "max" ? "greater_equal" : "less_equal";
    give_by(gradient, writer.binary(holds, gradient.input(0), gradient.input(1)), 0, 1);
  } else {
    return fmt::format("'{}' has no derivative", fn);
  }
  return {};
}

std::optional<std::string> sum_gradient(LayerGradient& gradient) {
  for (std::size_t operand = 0; operand < gradient.layer.inputs.size(); ++operand) {
    if (gradient.wants(operand)) {
      gradient.give(operand, gradient.dy());
    }
  }
  return {};
}

std::optional<std::string> where_gradient(LayerGradient& gradient) {
  give_by(gradient, gradient.input(0), 1, 2);
  return {};
}

std::optional<std::string> cast_gradient(LayerGradient& gradient) {
  gradient.give(0, gradient.writer.cast(gradient.dy(), gradient.writer.type(gradient.input(0))));
  return {};
}

}  // namespace plumb::rewrite
