// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "runners/cuda/builtin/builtin_layer.hpp"

namespace plumb::cuda {
namespace {

using kernels::RowShape;

/// Returns the one floating type of the first `count` operands and the result. Throws Unsupported
/// if they differ.
model::DataType common_type(const OwnOperands& operands, std::size_t count) {
  const model::DataType type = operands.output().dtype;
  for (std::size_t i = 0; i < count; ++i) {
    if (operands.input(i).dtype != type || !model::is_floating(type)) {
      throw Unsupported(fmt::format("a gradient of {} from operand {} of {}",
                                    to_text(type),
                                    i,
                                    to_text(operands.input(i).dtype)));
    }
  }
  return type;
}

enum Normalization : std::size_t { kGradient, kData, kScale, kMean, kVariance };

/// Strides and shared axes for the two launches of a normalisation's gradient. The strides locate
/// each operand's elements along the axes of x. The masks mark the axes that share a mean and those
/// that share a scale.
struct NormalizationAxes {
  Dimensions parameter;   ///< strides of scale, and of the gradients of scale and bias
  Dimensions statistics;  ///< of mean and variance
  std::vector<bool> share_mean;
  std::vector<bool> share_scale;
};

std::vector<KernelLaunch> normalization_launches(const OwnOperands& operands,
                                                 const NormalizationAxes& axes) {
  const model::DataType type = common_type(operands, 2);
  const model::DataType parameter = operands.input(kScale).dtype;
  for (const std::size_t statistic : {kMean, kVariance}) {
    if (operands.input(statistic).dtype != parameter) {
      throw Unsupported("scale and statistics of several types");
    }
  }
  for (const std::size_t result : {1U, 2U}) {
    if (operands.output(result).dtype != parameter) {
      throw Unsupported("gradients of scale and bias of another type than scale");
    }
  }
  const Dimensions& x = operands.input(kData).dims;
  const Dimensions gradient = operands.input_strides(kGradient);
  const Dimensions data = operands.input_strides(kData);
  RowShape rows = RowParting(x,
                             {operands.output_strides(),
                              gradient,
                              data,
                              axes.parameter,
                              axes.statistics,
                              axes.statistics},
                             axes.share_mean)
                      .shape();
  RowShape columns =
      RowParting(x,
                 {axes.parameter, axes.parameter, gradient, data, axes.statistics, axes.statistics},
                 axes.share_scale)
          .shape();
  rows.parameter = columns.parameter = operands.spec().real("epsilon");
  const std::string types =
      fmt::format("<{}, {}, {}>", compute_name(type), element_name(type), element_name(parameter));
  std::vector<KernelLaunch> launches{
      row_launch("normalization_gradient" + types,
                 rows,
                 {operands.output_buffer(), kGradient, kData, kScale, kMean, kVariance}),
      row_launch("parameter_gradients" + types,
                 columns,
                 {operands.output_buffer(1),
                  operands.output_buffer(2),
                  kGradient,
                  kData,
                  kMean,
                  kVariance})};
  launches.back().outputs = 2;
  return launches;
}

std::vector<bool> all_but(const std::vector<bool>& axes) {
  std::vector<bool> others = axes;
  others.flip();
  return others;
}

}  // namespace

std::vector<KernelLaunch> map_eltwise_gradient(const OwnOperands& operands) {
  const model::DataType type = common_type(operands, 2);
  kernels::MapShape shape{};
  shape.space = joined_space(
      operands.output().dims,
      {operands.output_strides(), operands.input_strides(0), operands.input_strides(1)});
  const std::vector<double>& parameters = operands.spec().reals("parameters");
  std::copy_n(parameters.begin(), std::min<std::size_t>(parameters.size(), 2), shape.parameters);
  return {element_launch(fmt::format("map_two<{}_gradient_of, {}, {}, {}, {}>",
                                     operands.spec().text("fn"),
                                     compute_name(type),
                                     element_name(type),
                                     element_name(type),
                                     element_name(type)),
                         "MapShape",
                         shape,
                         shape.space.count,
                         {operands.output_buffer(), 0, 1})};
}

std::vector<KernelLaunch> row_softmax_gradient(const OwnOperands& operands) {
  const model::DataType type = common_type(operands, 2);
  const Dimensions& dims = operands.output().dims;
  const auto axis = static_cast<std::size_t>(operands.spec().integer("axis"));
  const bool coerce = operands.spec().integer("coerce") != 0;
  RowShape shape =
      RowParting(dims,
                 {operands.output_strides(), operands.input_strides(0), operands.input_strides(1)},
                 from_axis(dims.size(), axis, coerce ? dims.size() : axis + 1))
          .shape();
  shape.flag = static_cast<int>(operands.spec().integer("log"));
  return {
      row_launch(fmt::format("softmax_gradient<{}, {}>", compute_name(type), element_name(type)),
                 shape,
                 {operands.output_buffer(), 0, 1})};
}

std::vector<KernelLaunch> row_batch_norm_gradient(const OwnOperands& operands) {
  const std::size_t rank = operands.input(kData).dims.size();
  NormalizationAxes axes;
  axes.parameter.assign(rank, 0);
  axes.parameter.at(1) = 1;
  axes.statistics = axes.parameter;
  axes.share_mean = axes.share_scale = all_but(from_axis(rank, 1, 2));
  return normalization_launches(operands, axes);
}

std::vector<KernelLaunch> row_layer_norm_gradient(const OwnOperands& operands) {
  const Dimensions& x = operands.input(kData).dims;
  const auto axis = static_cast<std::size_t>(operands.spec().integer("axis"));
  NormalizationAxes axes;
  axes.parameter =
      broadcast_strides(operands.input(kScale).dims, operands.input_strides(kScale), x);
  axes.statistics = broadcast_strides(operands.input(kMean).dims, operands.input_strides(kMean), x);
  axes.share_mean = from_axis(x.size(), axis, x.size());
  axes.share_scale = all_but(axes.share_mean);
  return normalization_launches(operands, axes);
}

std::vector<KernelLaunch> pool_gradients(const OwnOperands& operands) {
  const model::LayerSpec& spec = operands.spec();
  const bool of_largest = spec.op == "max_pool_backward";
  const model::DataType type = common_type(operands, of_largest ? 2 : 1);
  const Dimensions& x = operands.output().dims;
  if (x.size() < 3 || x.size() > 5) {
    throw Unsupported(fmt::format("data of rank {}", x.size()));
  }
  const std::size_t missing = 5 - x.size();
  const auto with_three_axes = [&](Dimensions values, std::int64_t filler) {
    values.insert(values.begin() + 2, missing, filler);
    return values;
  };
  kernels::PoolGradientShape shape{};
  shape.space = plain_space(with_three_axes(x, 1),
                            {with_three_axes(operands.output_strides(), 0),
                             with_three_axes(operands.input_strides(0), 0),
                             with_three_axes(operands.input_strides(of_largest ? 1 : 0), 0)});
  const Dimensions& pads = spec.integers("pads");
  for (std::size_t to = 0; to < 3; ++to) {
    const bool given = to >= missing;
    const std::size_t axis = given ? to - missing : 0;
    const auto value = [&](const char* name) { return given ? spec.integers(name).at(axis) : 1; };
    shape.data[to] = given ? x[axis + 2] : 1;
    shape.windows[to] = given ? operands.input(0).dims.at(axis + 2) : 1;
    shape.kernel[to] = value("kernel");
    shape.strides[to] = value("strides");
    shape.dilations[to] = value("dilations");
    shape.pads[to] = given ? pads.at(axis) : 0;
    shape.end_pads[to] = given ? pads.at(axis + 3 - missing) : 0;
  }
  shape.include_pad = of_largest ? 0 : static_cast<int>(spec.integer("count_include_pad"));
  return {element_launch(fmt::format("pool_gradient<{}, {}, {}>",
                                     of_largest ? "MaxGradient" : "AverageGradient",
                                     compute_name(type),
                                     element_name(type)),
                         "PoolGradientShape",
                         shape,
                         shape.space.count,
                         {operands.output_buffer(), 0, of_largest ? std::size_t{1} : 0})};
}

std::vector<KernelLaunch> gather_gradients(const OwnOperands& operands) {
  const model::DataType type = common_type(operands, 1);
  if (compute_name(type) != element_name(type)) {
    throw Unsupported(fmt::format("rows of {}, which would be rounded at each sum", to_text(type)));
  }
  const Dimensions& x = operands.output().dims;
  const auto axis = static_cast<std::size_t>(operands.spec().integer("axis"));
  kernels::GatherGradientShape shape{1, element_count(operands.input(1)), 1, x.at(axis)};
  for (std::size_t i = 0; i < x.size(); ++i) {
    shape.outer *= i < axis ? x[i] : 1;
    shape.inner *= i > axis ? x[i] : 1;
  }
  const kernels::Index count = shape.outer * shape.extent * shape.inner;
  const kernels::Index rows = shape.outer * shape.indices;
  if (count == 0 || rows == 0) {
    throw Unsupported("a tensor without elements");
  }
  const std::string element = element_name(type);
  const std::string index = element_name(operands.input(1).dtype);
  std::vector<KernelLaunch> launches{
      element_launch(fmt::format("clear_rows<{}>", element),
                     "GatherGradientShape",
                     shape,
                     count,
                     {operands.output_buffer()}),
      block_launch(fmt::format("gather_gradient<{}, {}>", element, index),
                   "GatherGradientShape",
                   shape,
                   rows,
                   {operands.output_buffer(), operands.input_buffer(0), operands.input_buffer(1)})};
  launches.back().updated = 1;
  return launches;
}

}  // namespace plumb::cuda
