// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "harness/rewrite/gradient/gradient_rule.hpp"

namespace plumb::rewrite {
namespace {

using Dims = LayerWriter::Dims;

}  // namespace

std::optional<std::string> view_gradient(LayerGradient& gradient) {
  gradient.give(0, gradient.writer.view(gradient.dy(), gradient.writer.dims(gradient.input(0))));
  return {};
}

std::optional<std::string> concat_gradient(LayerGradient& gradient) {
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

std::optional<std::string> split_gradient(LayerGradient& gradient) {
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

std::optional<std::string> slice_gradient(LayerGradient& gradient) {
  const model::LayerSpec& spec = gradient.layer.spec;
  const Dims& steps = spec.integers("steps");
  if (std::any_of(steps.begin(), steps.end(), [](std::int64_t step) { return step != 1; })) {
    return "a slice with steps";
  }
  const Dims dims = gradient.writer.dims(gradient.input(0));
  Dims before(dims.size(), 0);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    before.at(static_cast<std::size_t>(spec.integers("axes")[i])) = spec.integers("starts")[i];
  }
  gradient.give(0, gradient.writer.pad(gradient.dy(), before, dims));
  return {};
}

std::optional<std::string> pad_gradient(LayerGradient& gradient) {
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

std::optional<std::string> transpose_gradient(LayerGradient& gradient) {
  const Dims& permutation = gradient.layer.spec.integers("perm");
  Dims inverse(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    inverse.at(static_cast<std::size_t>(permutation[i])) = static_cast<std::int64_t>(i);
  }
  gradient.give(0, gradient.writer.transpose(gradient.dy(), inverse));
  return {};
}

std::optional<std::string> expand_gradient(LayerGradient& gradient) {
  gradient.give(0, gradient.dy());
  return {};
}

std::optional<std::string> gather_gradient(LayerGradient& gradient) {
  gradient.give(0,
                gradient.writer.layer("gather_backward",
                                      {gradient.dy(), gradient.input(1)},
                                      gradient.writer.dims(gradient.input(0)),
                                      gradient.layer.spec.attributes));
  return {};
}

std::optional<std::string> tile_gradient(LayerGradient& gradient) {
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
std::optional<std::string> resize_gradient(LayerGradient& gradient) {
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

std::optional<std::string> depth_to_space_gradient(LayerGradient& gradient) {
  if (gradient.layer.spec.text("mode") != "dcr") {
    return "the order of channels 'crd'";
  }
  gradient.give(0,
                gradient.writer.layer("space_to_depth",
                                      {gradient.dy()},
                                      gradient.writer.dims(gradient.input(0)),
                                      {{"block", gradient.layer.spec.attributes.at("block")}}));
  return {};
}

std::optional<std::string> space_to_depth_gradient(LayerGradient& gradient) {
  gradient.give(0,
                gradient.writer.layer("depth_to_space",
                                      {gradient.dy()},
                                      gradient.writer.dims(gradient.input(0)),
                                      {{"block", gradient.layer.spec.attributes.at("block")},
                                       {"mode", std::string("dcr")}}));
  return {};
}

}  // namespace plumb::rewrite
