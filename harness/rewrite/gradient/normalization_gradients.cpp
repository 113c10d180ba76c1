// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "harness/base/error.hpp"
#include "harness/rewrite/gradient/layer_writer.hpp"

namespace plumb::rewrite {
namespace {

using Dims = LayerWriter::Dims;

std::int64_t count(const Dims& dims, const Dims& axes) {
  std::int64_t product = 1;
  for (const std::int64_t axis : axes) {
    product *= dims.at(static_cast<std::size_t>(axis));
  }
  return product;
}

void give_results(LayerWriter::Gradient& gradient,
                  const std::vector<model::ValueId>& made,
                  std::size_t operands) {
  for (std::size_t operand = 0; operand < operands; ++operand) {
    if (gradient.wants(operand)) {
      gradient.give(operand, made[operand]);
    }
  }
}

/// Mean and variance of a value over some axes, which stay with the extent 1.
struct Moments {
  model::ValueId mean = 0;
  model::ValueId variance = 0;  ///< of the numbers as they are, not an estimate of a population's
};

/// Adds the layers that compute them.
Moments add_moments(LayerWriter& writer, model::ValueId x, const Dims& axes) {
  Moments moments;
  moments.mean = writer.reduce("mean", x, axes);
  const model::ValueId centred = writer.binary("sub", x, moments.mean);
  moments.variance = writer.scaled(writer.reduce("sum_square", centred, axes),
                                   1.0 / static_cast<double>(count(writer.dims(x), axes)));
  return moments;
}

}  // namespace

std::optional<std::string> softmax_gradient(LayerWriter::Gradient& gradient) {
  gradient.give(0,
                gradient.writer.layer("softmax_backward",
                                      {gradient.dy(), gradient.output()},
                                      gradient.writer.dims(gradient.output()),
                                      gradient.layer.spec.attributes));
  return {};
}

// With frozen statistics, y = scale · n + shift with n = (x − mean) ÷ √(variance + ε). So dx is a
// batch normalisation of dy without mean and shift. Others have become a batch_norm_training.
std::optional<std::string> batch_norm_gradient(LayerWriter::Gradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const LayerWriter::Attributes& attributes = gradient.layer.spec.attributes;
  if (gradient.layer.spec.text("mode") != "spatial") {
    return "statistics of every activation";
  }
  const Dims dims = writer.dims(gradient.input(0));
  const model::ValueId variance = gradient.input(4);
  const model::ValueId zero = writer.constant_like(variance, 0.0);
  if (gradient.wants(0)) {
    gradient.give(0,
                  writer.layer("batch_norm",
                               {gradient.dy(), gradient.input(1), zero, zero, variance},
                               dims,
                               attributes));
  }
  Dims axes{0};
  for (std::size_t i = 2; i < dims.size(); ++i) {
    axes.push_back(static_cast<std::int64_t>(i));
  }
  const auto over_channels = [&](model::ValueId value) {
    return writer.view(writer.reduce("sum", value, axes), {dims.at(1)});
  };
  if (gradient.wants(1)) {
    const model::ValueId one = writer.constant_like(variance, 1.0);
    const model::ValueId mean = gradient.input(3);
    const model::ValueId normalized = writer.layer(
        "batch_norm", {gradient.input(0), one, zero, mean, variance}, dims, attributes);
    gradient.give(1, over_channels(writer.binary("mul", gradient.dy(), normalized)));
  }
  if (gradient.wants(2)) {
    gradient.give(2, over_channels(gradient.dy()));
  }
  return {};
}

std::optional<std::string> batch_norm_training_gradient(LayerWriter::Gradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const Dims dims = writer.dims(gradient.input(0));
  const Dims channels{dims.at(1)};
  const std::vector<model::ValueId>& outputs = gradient.layer.outputs;
  const std::vector<model::ValueId> made = writer.add(
      "batch_norm_backward",
      {gradient.dy(), gradient.input(0), gradient.input(1), outputs.at(1), outputs.at(2)},
      {dims, channels, channels},
      gradient.layer.spec.attributes);
  give_results(gradient, made, 3);
  return {};
}

std::optional<std::string> layer_norm_gradient(LayerWriter::Gradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const Dims dims = writer.dims(gradient.input(0));
  Dims axes;
  for (std::int64_t axis = gradient.layer.spec.integer("axis");
       axis < static_cast<std::int64_t>(dims.size());
       ++axis) {
    axes.push_back(axis);
  }
  const Dims row(dims.end() - static_cast<std::ptrdiff_t>(axes.size()), dims.end());
  if (writer.dims(gradient.input(1)) != row) {
    return "a scale that is broadcast";
  }
  const Moments moments = add_moments(writer, gradient.input(0), axes);
  const std::vector<model::ValueId> made = writer.add(
      "layer_norm_backward",
      {gradient.dy(), gradient.input(0), gradient.input(1), moments.mean, moments.variance},
      {dims, row, row},
      gradient.layer.spec.attributes);
  give_results(gradient, made, 3);
  return {};
}

// Each channel of each sample has its own statistics, so it is a channel of one batch
// normalisation.
std::optional<std::string> instance_norm_gradient(LayerWriter::Gradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const model::ValueId x = gradient.input(0);
  const Dims dims = writer.dims(x);
  const std::int64_t planes = dims.at(0) * dims.at(1);
  Dims apart{1, planes};
  Dims axes{0};
  for (std::size_t i = 2; i < dims.size(); ++i) {
    apart.push_back(dims[i]);
    axes.push_back(static_cast<std::int64_t>(i));
  }
  const Dims each{dims[0], dims[1]};
  const model::ValueId scale = writer.expand(writer.view(gradient.input(1), {1, dims[1]}), each);
  const model::ValueId planes_of_x = writer.view(x, apart);
  const Moments moments = add_moments(writer, planes_of_x, axes);
  const std::vector<model::ValueId> made =
      writer.add("batch_norm_backward",
                 {writer.view(gradient.dy(), apart),
                  planes_of_x,
                  writer.view(scale, {planes}),
                  writer.view(moments.mean, {planes}),
                  writer.view(moments.variance, {planes})},
                 {apart, {planes}, {planes}},
                 {{"epsilon", gradient.layer.spec.attributes.at("epsilon")}});
  give_results(gradient,
               {writer.view(made[0], dims), writer.view(made[1], each), writer.view(made[2], each)},
               3);
  return {};
}

// Each group of each sample is a channel of one batch normalisation, whose scale is 1. A scale and
// a shift are those of a channel or of a group.
std::optional<std::string> group_norm_gradient(LayerWriter::Gradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const model::LayerSpec& spec = gradient.layer.spec;
  const Dims dims = writer.dims(gradient.input(0));
  const std::int64_t planes = dims.at(0) * spec.integer("groups");
  const std::int64_t scales = writer.dims(gradient.input(1)).at(0);
  const std::int64_t samples = dims.at(0);
  const std::int64_t all = model::element_count(spec.inputs.at(0).value());
  const Dims apart{1, planes, all / planes};
  const Dims scaled{samples, scales, all / (samples * scales)};
  const Dims axes{0, 2};
  const model::ValueId x = writer.view(gradient.input(0), apart);
  const model::ValueId dy = writer.view(gradient.dy(), scaled);
  const Moments moments = add_moments(writer, x, axes);
  const auto of_scales = [&](model::ValueId value) {
    return writer.view(writer.reduce("sum", value, axes), {scales});
  };
  if (gradient.wants(0)) {
    const model::ValueId product =
        writer.binary("mul", dy, writer.view(gradient.input(1), {scales, 1}));
    const model::ValueId mean = writer.view(moments.mean, {planes});
    const model::ValueId one = writer.eltwise("linear", mean, {0.0, 1.0});
    const std::vector<model::ValueId> made = writer.add(
        "batch_norm_backward",
        {writer.view(product, apart), x, one, mean, writer.view(moments.variance, {planes})},
        {apart, {planes}, {planes}},
        {{"epsilon", spec.attributes.at("epsilon")}});
    gradient.give(0, writer.view(made.front(), dims));
  }
  if (gradient.wants(1)) {
    const model::ValueId deviation = writer.eltwise(
        "sqrt", writer.eltwise("linear", moments.variance, {1.0, spec.real("epsilon")}));
    const model::ValueId normalized =
        writer.binary("div", writer.binary("sub", x, moments.mean), deviation);
    gradient.give(1, of_scales(writer.binary("mul", dy, writer.view(normalized, scaled))));
  }
  if (gradient.wants(2)) {
    gradient.give(2, of_scales(dy));
  }
  return {};
}

// y = scale · n with n = x · r and r = 1 ÷ √(mean of x² + ε). With g = dy · scale:
// dx = r · (g − n · mean of g · n).
std::optional<std::string> rms_norm_gradient(LayerWriter::Gradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const model::LayerSpec& spec = gradient.layer.spec;
  const model::ValueId x = gradient.input(0);
  Dims axes;
  for (auto axis = spec.integer("axis"); axis < static_cast<std::int64_t>(writer.dims(x).size());
       ++axis) {
    axes.push_back(axis);
  }
  const model::ValueId mean = writer.reduce("mean", writer.binary("mul", x, x), axes);
  const model::ValueId factor = writer.eltwise(
      "reciprocal",
      writer.eltwise("sqrt", writer.eltwise("linear", mean, {1.0, spec.real("epsilon")})));
  const model::ValueId normalized = writer.binary("mul", x, factor);
  if (gradient.wants(0)) {
    const model::ValueId slope = writer.binary("mul", gradient.dy(), gradient.input(1));
    const model::ValueId along =
        writer.reduce("mean", writer.binary("mul", slope, normalized), axes);
    const model::ValueId across =
        writer.binary("sub", slope, writer.binary("mul", normalized, along));
    gradient.give(0, writer.binary("mul", across, factor));
  }
  if (gradient.wants(1)) {
    gradient.give(1, writer.binary("mul", gradient.dy(), normalized));
  }
  return {};
}

// y = x · s^−β with s = bias + α ÷ size · Σ x² over the window of channels (Krizhevsky et al., NIPS
// 2012, §3.3). So dx = dy · s^−β − 2αβ ÷ size · x · Σ dy · y ÷ s, over the windows that hold x.
// Both sums are an average pool along the channels and its gradient, which divide by the size.
std::optional<std::string> lrn_gradient(LayerWriter::Gradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const model::LayerSpec& spec = gradient.layer.spec;
  const model::ValueId x = gradient.input(0);
  const Dims dims = writer.dims(x);
  const std::int64_t size = spec.integer("size");
  std::int64_t inner = 1;
  for (std::size_t i = 2; i < dims.size(); ++i) {
    inner *= dims[i];
  }
  const Dims plane{dims.at(0), 1, dims.at(1), inner};
  const LayerWriter::Attributes window{{"ceil_mode", std::int64_t{0}},
                                       {"count_include_pad", std::int64_t{1}},
                                       {"dilations", Dims{1, 1}},
                                       {"kernel", Dims{size, 1}},
                                       {"pads", Dims{(size - 1) / 2, 0, size / 2, 0}},
                                       {"strides", Dims{1, 1}}};
  const auto pooled = [&](const std::string& op, model::ValueId value) {
    return writer.view(writer.layer(op, {writer.view(value, plane)}, plane, window), dims);
  };
  const double alpha = spec.real("alpha");
  const double beta = spec.real("beta");
  const model::ValueId base = writer.eltwise(
      "linear", pooled("average_pool", writer.binary("mul", x, x)), {alpha, spec.real("bias")});
  const model::ValueId power =
      writer.eltwise("exp", writer.scaled(writer.eltwise("log", base), -beta));
  const model::ValueId shared =
      pooled("average_pool_backward",
             writer.binary("div", writer.binary("mul", gradient.dy(), gradient.output()), base));
  gradient.give(0,
                writer.binary("add",
                              writer.binary("mul", gradient.dy(), power),
                              writer.scaled(writer.binary("mul", x, shared), -2.0 * alpha * beta)));
  return {};
}

std::optional<std::string> max_pool_gradient(LayerWriter::Gradient& gradient) {
  gradient.give(0,
                gradient.writer.layer("max_pool_backward",
                                      {gradient.dy(), gradient.input(0)},
                                      gradient.writer.dims(gradient.input(0)),
                                      gradient.layer.spec.attributes));
  return {};
}

std::optional<std::string> average_pool_gradient(LayerWriter::Gradient& gradient) {
  gradient.give(0,
                gradient.writer.layer("average_pool_backward",
                                      {gradient.dy()},
                                      gradient.writer.dims(gradient.input(0)),
                                      gradient.layer.spec.attributes));
  return {};
}

namespace {

/// Gives the elements that are the largest or smallest ones of their row equal parts of dy.
void give_extremum(LayerWriter::Gradient& gradient, model::ValueId dy, model::ValueId y) {
  LayerWriter& writer = gradient.writer;
  const bool largest = gradient.layer.spec.text("fn") == "max";
  const model::ValueId is_it =
      writer.binary(largest ? "greater_equal" : "less_equal", gradient.input(0), y);
  const model::ValueId mask = writer.cast(is_it, writer.type(dy));
  const model::ValueId number = writer.reduce("sum", mask, gradient.layer.spec.integers("axes"));
  gradient.give(0, writer.binary("mul", mask, writer.binary("div", dy, number)));
}

}  // namespace

std::optional<std::string> reduce_gradient(LayerWriter::Gradient& gradient) {
  LayerWriter& writer = gradient.writer;
  const model::LayerSpec& spec = gradient.layer.spec;
  const std::string& fn = spec.text("fn");
  const model::ValueId x = gradient.input(0);
  const Dims dims = writer.dims(x);
  const Dims& axes = spec.integers("axes");
  Dims kept = dims;
  for (const std::int64_t axis : axes) {
    kept.at(static_cast<std::size_t>(axis)) = 1;
  }
  const model::ValueId dy = writer.view(gradient.dy(), kept);
  const auto y = [&] { return writer.view(gradient.output(), kept); };
  if (fn == "mean" || fn == "sum") {
    const double share = fn == "mean" ? 1.0 / static_cast<double>(count(dims, axes)) : 1.0;
    gradient.give(0, writer.expand(writer.scaled(dy, share), dims));
  } else if (fn == "sum_square") {
    gradient.give(0, writer.binary("mul", x, writer.scaled(dy, 2.0)));
  } else if (fn == "l2") {
    gradient.give(0, writer.binary("mul", x, writer.binary("div", dy, y())));
  } else if (fn == "l1") {
    gradient.give(0, writer.binary("mul", writer.eltwise("sign", x), dy));
  } else if (fn == "log_sum") {
    gradient.give(0, writer.expand(writer.binary("div", dy, writer.eltwise("exp", y())), dims));
  } else if (fn == "log_sum_exp") {
    gradient.give(0, writer.binary("mul", writer.eltwise("exp", writer.binary("sub", x, y())), dy));
  } else if (fn == "max" || fn == "min") {
    give_extremum(gradient, dy, y());
  } else {
    return fmt::format("a reduction by '{}'", fn);
  }
  return {};
}

}  // namespace plumb::rewrite
