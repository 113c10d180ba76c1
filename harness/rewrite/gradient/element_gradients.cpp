// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "harness/model/key/op_schema.hpp"
#include "harness/rewrite/gradient/layer_writer.hpp"

namespace plumb::rewrite {
namespace {

/// Writes dy · f'(x).
model::ValueId through(LayerWriter::Gradient& gradient,
                       const std::string& fn,
                       model::ValueId x,
                       std::vector<double> parameters = {}) {
  return gradient.writer.layer("eltwise_backward",
                               {gradient.dy(), x},
                               gradient.writer.dims(x),
                               {{"fn", fn}, {"parameters", std::move(parameters)}});
}

/// Gives the first operand dy where a condition holds, and the second one the rest of it.
void give_by(LayerWriter::Gradient& gradient,
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

void give_product(LayerWriter::Gradient& gradient) {
  for (const std::size_t operand : {0U, 1U}) {
    if (gradient.wants(operand)) {
      gradient.give(operand,
                    gradient.writer.binary("mul", gradient.dy(), gradient.input(1 - operand)));
    }
  }
}

void give_quotient(LayerWriter::Gradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const model::ValueId ratio = writer.binary("div", gradient.dy(), gradient.input(1));
  if (gradient.wants(0)) {
    gradient.give(0, ratio);
  }
  if (gradient.wants(1)) {
    gradient.give(1, writer.eltwise("neg", writer.binary("mul", ratio, gradient.output())));
  }
}

void give_power(LayerWriter::Gradient& gradient) {
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

std::optional<std::string> eltwise_gradient(LayerWriter::Gradient& gradient) {
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
std::optional<std::string> prelu_gradient(LayerWriter::Gradient& gradient) {
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

std::optional<std::string> binary_gradient(LayerWriter::Gradient& gradient) {
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

std::optional<std::string> sum_gradient(LayerWriter::Gradient& gradient) {
  for (std::size_t operand = 0; operand < gradient.layer.inputs.size(); ++operand) {
    if (gradient.wants(operand)) {
      gradient.give(operand, gradient.dy());
    }
  }
  return {};
}

// The first operand that is the extremum has its gradient.
std::optional<std::string> extremum_gradient(LayerWriter::Gradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const std::string_view holds = gradient.layer.spec.op == "max" ? "greater_equal" : "less_equal";
  std::size_t wanted = gradient.layer.inputs.size();  // operands up to the last that is wanted
  while (!gradient.wants(wanted - 1)) {
    --wanted;
  }
  model::ValueId rest = gradient.dy();
  for (std::size_t operand = 0; operand < wanted; ++operand) {
    model::ValueId held = rest;
    if (operand + 1 < gradient.layer.inputs.size()) {
      const model::ValueId is_it = writer.binary(holds, gradient.input(operand), gradient.output());
      held = writer.binary("mul", rest, writer.cast(is_it, writer.type(rest)));
    }
    if (gradient.wants(operand)) {
      gradient.give(operand, held);
    }
    if (operand + 1 < wanted) {
      rest = writer.binary("sub", rest, held);
    }
  }
  return {};
}

std::optional<std::string> where_gradient(LayerWriter::Gradient& gradient) {
  give_by(gradient, gradient.input(0), 1, 2);
  return {};
}

std::optional<std::string> cast_gradient(LayerWriter::Gradient& gradient) {
  gradient.give(0, gradient.writer.cast(gradient.dy(), gradient.writer.type(gradient.input(0))));
  return {};
}

namespace {

using Dims = LayerWriter::Dims;

/// Puts zeros between the elements along an axis, so that each is `step` behind the one before.
model::ValueId spread(LayerWriter& writer, model::ValueId x, std::size_t axis, std::int64_t step) {
  const Dims dims = writer.dims(x);
  const std::int64_t count = dims.at(axis);
  if (step == 1 || count <= 1) {
    return x;
  }
  Dims apart = dims;
  apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 1);
  Dims padded = apart;
  padded[axis + 1] = step;
  Dims joined = dims;
  joined[axis] = count * step;
  Dims cut = dims;
  cut[axis] = (count - 1) * step + 1;
  const Dims origin(apart.size(), 0);
  const model::ValueId zeros = writer.pad(writer.view(x, apart), origin, padded);
  return writer.slice(writer.view(zeros, joined), origin, cut);
}

}  // namespace

std::optional<std::string> view_gradient(LayerWriter::Gradient& gradient) {
  gradient.give(0, gradient.writer.view(gradient.dy(), gradient.writer.dims(gradient.input(0))));
  return {};
}

std::optional<std::string> concat_gradient(LayerWriter::Gradient& gradient) {
  const auto axis = static_cast<std::size_t>(gradient.layer.spec.integer("axis"));
  Dims starts(gradient.writer.dims(gradient.dy()).size(), 0);
  for (std::size_t operand = 0; operand < gradient.layer.inputs.size(); ++operand) {
    const Dims dims = gradient.writer.dims(gradient.input(operand));
    if (gradient.wants(operand)) {
      gradient.give(operand, gradient.writer.slice(gradient.dy(), starts, dims));
    }
    starts.at(axis) += dims.at(axis);
  }
  return {};
}

std::optional<std::string> split_gradient(LayerWriter::Gradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const auto axis = static_cast<std::size_t>(gradient.layer.spec.integer("axis"));
  const Dims dims = writer.dims(gradient.input(0));
  const bool whole = std::all_of(gradient.results.begin(),
                                 gradient.results.end(),
                                 [](const auto& result) { return result.has_value(); });
  if (whole) {
    gradient.give(0,
                  writer.layer("concat",
                               gradient.results,
                               dims,
                               {{"axis", gradient.layer.spec.attributes.at("axis")}}));
    return {};
  }
  std::vector<model::ValueId> parts;
  Dims before(dims.size(), 0);
  for (std::size_t i = 0; i < gradient.results.size(); ++i) {
    if (gradient.results[i]) {
      parts.push_back(writer.pad(*gradient.results[i], before, dims));
    }
    before[axis] += writer.dims(gradient.layer.outputs[i]).at(axis);
  }
  gradient.give(0, writer.sum(parts));
  return {};
}

std::optional<std::string> slice_gradient(LayerWriter::Gradient& gradient) {
  const model::LayerSpec& spec = gradient.layer.spec;
  const Dims& steps = spec.integers("steps");
  if (std::any_of(steps.begin(), steps.end(), [](std::int64_t step) { return step < 0; })) {
    return "a slice that goes backwards";
  }
  const Dims dims = gradient.writer.dims(gradient.input(0));
  Dims before(dims.size(), 0);
  model::ValueId dy = gradient.dy();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto axis = static_cast<std::size_t>(spec.integers("axes")[i]);
    before.at(axis) = spec.integers("starts")[i];
    dy = spread(gradient.writer, dy, axis, steps[i]);
  }
  gradient.give(0, gradient.writer.pad(dy, before, dims));
  return {};
}

std::optional<std::string> pad_gradient(LayerWriter::Gradient& gradient) {
  const Dims& pads = gradient.layer.spec.integers("pads");
  const bool shrinks =
      std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad < 0; });
  if (gradient.layer.spec.text("mode") != "constant" || shrinks) {
    return "a padding with other elements";
  }
  gradient.give(
      0, gradient.writer.slice(gradient.dy(), pads, gradient.writer.dims(gradient.input(0))));
  return {};
}

std::optional<std::string> transpose_gradient(LayerWriter::Gradient& gradient) {
  const Dims& permutation = gradient.layer.spec.integers("perm");
  Dims inverse(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    inverse.at(static_cast<std::size_t>(permutation[i])) = static_cast<std::int64_t>(i);
  }
  gradient.give(0, gradient.writer.transpose(gradient.dy(), inverse));
  return {};
}

std::optional<std::string> expand_gradient(LayerWriter::Gradient& gradient) {
  gradient.give(0, gradient.dy());
  return {};
}

std::optional<std::string> gather_gradient(LayerWriter::Gradient& gradient) {
  gradient.give(0,
                gradient.writer.layer("gather_backward",
                                      {gradient.dy(), gradient.input(1)},
                                      gradient.writer.dims(gradient.input(0)),
                                      gradient.layer.spec.attributes));
  return {};
}

std::optional<std::string> tile_gradient(LayerWriter::Gradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const Dims& repeats = gradient.layer.spec.integers("repeats");
  const Dims dims = writer.dims(gradient.input(0));
  Dims apart;
  Dims copies;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    copies.push_back(static_cast<std::int64_t>(apart.size()));
    apart.push_back(repeats.at(i));
    apart.push_back(dims[i]);
  }
  const model::ValueId sum = writer.reduce("sum", writer.view(gradient.dy(), apart), copies);
  gradient.give(0, writer.view(sum, dims));
  return {};
}

// Repeating each element over a block adds up the gradients of the block: their mean, times their
// number.
std::optional<std::string> resize_gradient(LayerWriter::Gradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const model::LayerSpec& spec = gradient.layer.spec;
  const Dims dims = writer.dims(gradient.input(0));
  const Dims to = writer.dims(gradient.dy());
  const bool floors =
      spec.text("coordinates") == "asymmetric" && spec.text("nearest_mode") == "floor";
  const bool nearest =
      spec.text("coordinates") == "half_pixel" && spec.text("nearest_mode") == "round_prefer_floor";
  Dims block;
  std::int64_t size = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const bool repeats =
        dims[i] > 0 && to[i] % dims[i] == 0 &&
        spec.reals("scales").at(i) * static_cast<double>(dims[i]) == static_cast<double>(to[i]);
    if (!repeats || (i < 2 && to[i] != dims[i])) {
      return "scales that are not whole";
    }
    if (i >= 2) {
      block.push_back(to[i] / dims[i]);
      size *= block.back();
    }
  }
  if (spec.text("mode") != "nearest" || !(floors || nearest) || block.empty()) {
    return "a resizing that does not just repeat elements";
  }
  const model::ValueId mean = writer.layer("average_pool",
                                           {gradient.dy()},
                                           dims,
                                           {{"ceil_mode", std::int64_t{0}},
                                            {"count_include_pad", std::int64_t{0}},
                                            {"dilations", Dims(block.size(), 1)},
                                            {"kernel", block},
                                            {"pads", Dims(2 * block.size(), 0)},
                                            {"strides", block}});
  gradient.give(0, writer.scaled(mean, static_cast<double>(size)));
  return {};
}

std::optional<std::string> depth_to_space_gradient(LayerWriter::Gradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const Dims dims = writer.dims(gradient.input(0));
  if (gradient.layer.spec.text("mode") == "crd") {  // of channels, the place in a block is last
    const std::int64_t block = gradient.layer.spec.integer("block");
    const std::int64_t depth = dims.at(1) / (block * block);
    const Dims apart{dims.at(0), depth, dims.at(2), block, dims.at(3), block};
    const model::ValueId places =
        writer.transpose(writer.view(gradient.dy(), apart), {0, 1, 3, 5, 2, 4});
    gradient.give(0, writer.view(places, dims));
    return {};
  }
  gradient.give(0,
                writer.layer("space_to_depth",
                             {gradient.dy()},
                             dims,
                             {{"block", gradient.layer.spec.attributes.at("block")}}));
  return {};
}

std::optional<std::string> space_to_depth_gradient(LayerWriter::Gradient& gradient) {
  gradient.give(0,
                gradient.writer.layer("depth_to_space",
                                      {gradient.dy()},
                                      gradient.writer.dims(gradient.input(0)),
                                      {{"block", gradient.layer.spec.attributes.at("block")},
                                       {"mode", std::string("dcr")}}));
  return {};
}

}  // namespace plumb::rewrite
