// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "harness/rewrite/gradient/gradient_rule.hpp"

namespace plumb::rewrite {
namespace {

using Dims = LayerWriter::Dims;

/// Returns the attributes of a convolution alone, as its gradients have them.
LayerWriter::Attributes window_of(const model::LayerSpec& spec) {
  LayerWriter::Attributes window;
  for (const char* const name : {"dilations", "group", "pads", "strides"}) {
    window[name] = spec.attributes.at(name);
  }
  return window;
}

/// Gives a convolution's bias the sum over everything but the channels.
void give_bias(LayerGradient& gradient) {
  if (!gradient.wants(2)) {
    return;
  }
  const Dims dims = gradient.writer.dims(gradient.dy());
  Dims axes{0};
  for (std::size_t i = 2; i < dims.size(); ++i) {
    axes.push_back(static_cast<std::int64_t>(i));
  }
  const model::ValueId sum = gradient.writer.reduce("sum", gradient.dy(), axes);
  gradient.give(2, gradient.writer.view(sum, gradient.writer.dims(gradient.input(2))));
}

/// Returns a value of rank 2 or more as a matrix whose rows are its last axis.
model::ValueId rows_of(LayerWriter& writer, model::ValueId x) {
  const Dims dims = writer.dims(x);
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < dims.size(); ++i) {
    rows *= dims[i];
  }
  return writer.view(x, {rows, dims.back()});
}

}  // namespace

std::optional<std::string> convolution_gradient(LayerGradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const LayerWriter::Attributes window = window_of(gradient.layer.spec);
  if (gradient.wants(0)) {
    gradient.give(0,
                  writer.layer("conv_backward_data",
                               {gradient.dy(), gradient.input(1)},
                               writer.dims(gradient.input(0)),
                               window));
  }
  if (!gradient.wants(1)) {
    give_bias(gradient);
    return {};
  }
  LayerWriter::Attributes with_outputs = window;
  with_outputs["outputs"] = std::string(gradient.wants(2) ? "wb" : "w");
  std::vector<Dims> results{writer.dims(gradient.input(1))};
  if (gradient.wants(2)) {
    results.push_back(writer.dims(gradient.input(2)));
  }
  const std::vector<model::ValueId> made = writer.add(
      "conv_backward_weights", {gradient.dy(), gradient.input(0)}, results, with_outputs);
  gradient.give(1, made.front());
  if (gradient.wants(2)) {
    gradient.give(2, made.back());
  }
  return {};
}

// A transposed convolution is the gradient of a convolution of its result. So its gradients are
// that convolution and the gradient of that convolution's weights.
std::optional<std::string> transposed_convolution_gradient(LayerGradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const LayerWriter::Attributes window = window_of(gradient.layer.spec);
  if (gradient.wants(0)) {
    gradient.give(
        0,
        writer.layer(
            "conv", {gradient.dy(), gradient.input(1)}, writer.dims(gradient.input(0)), window));
  }
  if (gradient.wants(1)) {
    LayerWriter::Attributes with_outputs = window;
    with_outputs["outputs"] = std::string("w");
    gradient.give(1,
                  writer.layer("conv_backward_weights",
                               {gradient.input(0), gradient.dy()},
                               writer.dims(gradient.input(1)),
                               with_outputs));
  }
  give_bias(gradient);
  return {};
}

std::optional<std::string> gemm_gradient(LayerGradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const model::LayerSpec& spec = gradient.layer.spec;
  const bool a = spec.integer("trans_a") != 0;
  const bool b = spec.integer("trans_b") != 0;
  const double alpha = spec.real("alpha");
  if (gradient.wants(0)) {
    gradient.give(0,
                  a ? writer.product(gradient.input(1), gradient.dy(), b, true, alpha)
                    : writer.product(gradient.dy(), gradient.input(1), false, !b, alpha));
  }
  if (gradient.wants(1)) {
    gradient.give(1,
                  b ? writer.product(gradient.dy(), gradient.input(0), true, a, alpha)
                    : writer.product(gradient.input(0), gradient.dy(), !a, false, alpha));
  }
  if (gradient.wants(2)) {
    gradient.give(2, writer.scaled(gradient.dy(), spec.real("beta")));
  }
  return {};
}

std::optional<std::string> matmul_gradient(LayerGradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const model::ValueId a = gradient.input(0);
  const model::ValueId b = gradient.input(1);
  const model::ValueId dy = gradient.dy();
  const Dims from_a = writer.dims(a);
  const Dims from_b = writer.dims(b);
  if (from_a.size() < 2 || from_b.size() < 2) {
    return "a product with a vector";
  }
  if (from_b.size() == 2) {  // one matrix for the whole batch: its gradient sums over the batch
    if (gradient.wants(0)) {
      const model::ValueId rows = writer.product(rows_of(writer, dy), b, false, true);
      gradient.give(0, writer.view(rows, from_a));
    }
    if (gradient.wants(1)) {
      gradient.give(1, writer.product(rows_of(writer, a), rows_of(writer, dy), true, false));
    }
    return {};
  }
  const Dims to = writer.dims(dy);
  if (gradient.wants(0)) {
    Dims dims = to;
    dims.back() = from_a.back();
    gradient.give(0, writer.layer("matmul", {dy, writer.swap_last(b)}, dims));
  }
  if (gradient.wants(1)) {
    Dims dims = to;
    dims[dims.size() - 2] = from_b[from_b.size() - 2];
    gradient.give(1, writer.layer("matmul", {writer.swap_last(a), dy}, dims));
  }
  return {};
}

}  // namespace plumb::rewrite
