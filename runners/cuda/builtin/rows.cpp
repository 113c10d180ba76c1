// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "runners/cuda/builtin/builtin_layer.hpp"

namespace plumb::cuda {
namespace {

using kernels::RowShape;

const model::TensorType& real_input(const BuiltinLayer::Operands& operands) {
  const model::TensorType& x = operands.input(0);
  if (!model::is_floating(x.dtype)) {
    throw Unsupported(fmt::format("an input of {}", to_text(x.dtype)));
  }
  return x;
}

KernelLaunch normalized(const BuiltinLayer::Operands& operands,
                        RowShape shape,
                        bool centred,
                        bool biased) {
  const model::TensorType& scale = operands.input(1);
  if (biased && operands.input(2).dtype != scale.dtype) {
    throw Unsupported("scale and bias of different types");
  }
  shape.parameter = operands.spec().real("epsilon");
  shape.flag = centred ? 1 : 0;
  return row_launch(fmt::format("normalize<{}, {}, {}, {}>",
                                compute_name(operands.input(0).dtype),
                                element_name(operands.input(0).dtype),
                                element_name(scale.dtype),
                                biased),
                    shape,
                    {operands.output_buffer(),
                     operands.input_buffer(0),
                     operands.input_buffer(1),
                     operands.input_buffer(biased ? 2 : 1)});
}

}  // namespace

std::vector<KernelLaunch> row_softmax(const BuiltinLayer::Operands& operands) {
  const model::TensorType& x = real_input(operands);
  const auto axis = static_cast<std::size_t>(operands.spec().integer("axis"));
  const bool coerce = operands.spec().integer("coerce") != 0;
  const BuiltinLayer::RowPartition parting(
      x.dims,
      {operands.output_strides(), operands.input_strides(0)},
      from_axis(x.dims.size(), axis, coerce ? x.dims.size() : axis + 1));
  RowShape shape = parting.shape();
  shape.flag = static_cast<int>(operands.spec().integer("log"));
  return {row_launch(fmt::format("softmax<{}, {}>", compute_name(x.dtype), element_name(x.dtype)),
                     shape,
                     {operands.output_buffer(), operands.input_buffer(0)})};
}

std::vector<KernelLaunch> row_layer_norm(const BuiltinLayer::Operands& operands) {
  const model::TensorType& x = real_input(operands);
  const bool biased = operands.spec().has_input(2);
  std::vector<Dimensions> strides{operands.output_strides(), operands.input_strides(0)};
  for (std::size_t i = 1; i < 3; ++i) {
    const std::size_t from = i == 2 && !biased ? 1 : i;
    strides.push_back(
        broadcast_strides(operands.input(from).dims, operands.input_strides(from), x.dims));
  }
  const auto axis = static_cast<std::size_t>(operands.spec().integer("axis"));
  const BuiltinLayer::RowPartition parting(
      x.dims, strides, from_axis(x.dims.size(), axis, x.dims.size()));
  return {normalized(operands, parting.shape(), operands.spec().op == "layer_norm", biased)};
}

std::vector<KernelLaunch> row_channel_norm(const BuiltinLayer::Operands& operands) {
  const model::TensorType& x = real_input(operands);
  if (x.dims.size() < 2) {
    throw Unsupported("an input without channels");
  }
  const bool grouped = operands.spec().op == "group_norm";
  const std::int64_t groups = grouped ? operands.spec().integer("groups") : x.dims[1];
  const std::int64_t in_group = groups > 0 ? x.dims[1] / groups : 0;
  if (in_group == 0 || in_group * groups != x.dims[1]) {
    throw Unsupported("channels that are not a multiple of the groups");
  }
  // Axis 1 becomes two: groups, and channels of a group.
  const auto parted =
      [&](const Dimensions& values, std::int64_t of_group, std::int64_t of_channel) {
        Dimensions result = values;
        result[1] = of_channel;
        result.insert(result.begin() + 1, of_group);
        return result;
      };
  const Dimensions to = operands.output_strides();
  const Dimensions from = operands.input_strides(0);
  std::vector<Dimensions> strides{parted(to, to[1] * in_group, to[1]),
                                  parted(from, from[1] * in_group, from[1])};
  for (std::size_t i = 1; i < 3; ++i) {
    const std::int64_t given = element_count(operands.input(i));
    if (given != x.dims[1] && given != groups) {
      throw Unsupported(
          "scale and bias have neither one number for each channel nor one for each group");
    }
    const bool a_channel = given == x.dims[1];
    strides.push_back(
        parted(Dimensions(x.dims.size(), 0), a_channel ? in_group : 1, a_channel ? 1 : 0));
  }
  std::vector<bool> in_line = from_axis(x.dims.size() + 1, 2, x.dims.size() + 1);
  const BuiltinLayer::RowPartition parting(parted(x.dims, groups, in_group), strides, in_line);
  return {normalized(operands, parting.shape(), true, true)};
}

std::vector<KernelLaunch> row_batch_norm_training(const BuiltinLayer::Operands& operands) {
  const model::TensorType& x = real_input(operands);
  const model::DataType parameter = operands.input(1).dtype;
  if (operands.output().dtype != x.dtype || operands.input(2).dtype != parameter ||
      operands.output(1).dtype != parameter || operands.output(2).dtype != parameter) {
    throw Unsupported("scale, shift and statistics of several types, or a result of another");
  }
  const std::vector<model::Epilogue>& fused = operands.spec().epilogue;
  if (fused.size() > 1 || (fused.size() == 1 && fused.front().fn != "relu")) {
    throw Unsupported("a normalisation of the batch with other steps behind it than a ReLU");
  }
  Dimensions channel(x.dims.size(), 0);
  channel.at(1) = 1;
  std::vector<bool> in_line(x.dims.size(), true);
  in_line.at(1) = false;
  RowShape shape = BuiltinLayer::RowPartition(x.dims,
                                              {operands.output_strides(),
                                               channel,
                                               channel,
                                               operands.input_strides(0),
                                               channel,
                                               channel},
                                              in_line)
                       .shape();
  shape.parameter = operands.spec().real("epsilon");
  shape.flag = fused.empty() ? 0 : 1;
  KernelLaunch launch = row_launch(fmt::format("normalize_batch<{}, {}, {}>",
                                               compute_name(x.dtype),
                                               element_name(x.dtype),
                                               element_name(parameter)),
                                   shape,
                                   {operands.output_buffer(0),
                                    operands.output_buffer(1),
                                    operands.output_buffer(2),
                                    operands.input_buffer(0),
                                    operands.input_buffer(1),
                                    operands.input_buffer(2)});
  launch.outputs = 3;
  return {std::move(launch)};
}

std::vector<KernelLaunch> row_reduce(const BuiltinLayer::Operands& operands) {
  struct Reduction {
    std::string_view fn;
    std::string_view call;  ///< "{0}": the compute type
    double neutral = 0.0;
    bool first_is_neutral = false;
    bool of_integers = false;
  };
  static constexpr std::array kReductions = std::to_array<Reduction>({
      {"mean", "reduce<Sum<{0}>, Value, Mean", 0.0, false, false},
      {"sum", "reduce<Sum<{0}>, Value, Plain", 0.0, false, true},
      {"max", "reduce<Largest<{0}>, Value, Plain", 0.0, true, true},
      {"min", "reduce<Smallest<{0}>, Value, Plain", 0.0, true, true},
      {"prod", "reduce<Product<{0}>, Value, Plain", 1.0, false, true},
      {"l1", "reduce<Sum<{0}>, Magnitude, Plain", 0.0, false, true},
      {"l2", "reduce<Sum<{0}>, Square, Root", 0.0, false, false},
      {"sum_square", "reduce<Sum<{0}>, Square, Plain", 0.0, false, true},
      {"log_sum", "reduce<Sum<{0}>, Value, Logarithm", 0.0, false, false},
      {"log_sum_exp", "reduce_log_sum_exp<", 0.0, false, false},
  });
  const model::TensorType& x = operands.input(0);
  const std::string& fn = operands.spec().text("fn");
  const auto row = std::find_if(
      kReductions.begin(), kReductions.end(), [&](const Reduction& each) { return each.fn == fn; });
  if (row == kReductions.end() || (!model::is_floating(x.dtype) && !row->of_integers)) {
    throw Unsupported(fmt::format("'{}' of {}", fn, to_text(x.dtype)));
  }
  std::vector<bool> in_line(x.dims.size(), false);
  for (const std::int64_t axis : operands.spec().integers("axes")) {
    in_line.at(static_cast<std::size_t>(axis)) = true;
  }
  Dimensions kept = x.dims;
  for (std::size_t axis = 0; axis < kept.size(); ++axis) {
    kept[axis] = in_line[axis] ? 1 : kept[axis];
  }
  const Dimensions to = operands.spec().integer("keepdims") != 0
                            ? operands.output_strides()
                            : compute_strides(kept, TensorLayout::kChannelsFirst);
  const BuiltinLayer::RowPartition parting(x.dims, {to, operands.input_strides(0)}, in_line);
  RowShape shape = parting.shape();
  shape.parameter = row->neutral;
  shape.flag = row->first_is_neutral ? 1 : 0;
  const std::string compute = compute_name(x.dtype);
  const std::string call = fmt::format(fmt::runtime(row->call), compute);
  return {row_launch(
      fmt::format(
          "{}{}{}, {}>", call, call.back() == '<' ? "" : ", ", compute, element_name(x.dtype)),
      shape,
      {operands.output_buffer(), operands.input_buffer(0)})};
}

std::vector<KernelLaunch> row_arg_reduce(const BuiltinLayer::Operands& operands) {
  const model::TensorType& x = operands.input(0);
  const auto axis = static_cast<std::size_t>(operands.spec().integer("axis"));
  Dimensions kept = x.dims;
  kept.at(axis) = 1;
  const BuiltinLayer::RowPartition parting(
      x.dims,
      {compute_strides(kept, TensorLayout::kChannelsFirst), operands.input_strides(0)},
      from_axis(x.dims.size(), axis, axis + 1));
  RowShape shape = parting.shape();
  shape.parameter = operands.spec().text("fn") == "argmin" ? -1.0 : 1.0;
  shape.flag = static_cast<int>(operands.spec().integer("select_last"));
  return {
      row_launch(fmt::format("find_extreme<{}, {}>", compute_name(x.dtype), element_name(x.dtype)),
                 shape,
                 {operands.output_buffer(), operands.input_buffer(0)})};
}

namespace {

/// Returns the one floating type of the first `count` operands and the result. Throws Unsupported
/// if they differ.
model::DataType common_type(const BuiltinLayer::Operands& operands, std::size_t count) {
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

std::vector<KernelLaunch> normalization_launches(const BuiltinLayer::Operands& operands,
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
  RowShape rows = BuiltinLayer::RowPartition(x,
                                             {operands.output_strides(),
                                              gradient,
                                              data,
                                              axes.parameter,
                                              axes.statistics,
                                              axes.statistics},
                                             axes.share_mean)
                      .shape();
  RowShape columns =
      BuiltinLayer::RowPartition(
          x,
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

std::vector<KernelLaunch> map_eltwise_gradient(const BuiltinLayer::Operands& operands) {
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

std::vector<KernelLaunch> row_softmax_gradient(const BuiltinLayer::Operands& operands) {
  const model::DataType type = common_type(operands, 2);
  const Dimensions& dims = operands.output().dims;
  const auto axis = static_cast<std::size_t>(operands.spec().integer("axis"));
  const bool coerce = operands.spec().integer("coerce") != 0;
  RowShape shape =
      BuiltinLayer::RowPartition(
          dims,
          {operands.output_strides(), operands.input_strides(0), operands.input_strides(1)},
          from_axis(dims.size(), axis, coerce ? dims.size() : axis + 1))
          .shape();
  shape.flag = static_cast<int>(operands.spec().integer("log"));
  return {
      row_launch(fmt::format("softmax_gradient<{}, {}>", compute_name(type), element_name(type)),
                 shape,
                 {operands.output_buffer(), 0, 1})};
}

std::vector<KernelLaunch> row_batch_norm_gradient(const BuiltinLayer::Operands& operands) {
  const std::size_t rank = operands.input(kData).dims.size();
  NormalizationAxes axes;
  axes.parameter.assign(rank, 0);
  axes.parameter.at(1) = 1;
  axes.statistics = axes.parameter;
  axes.share_mean = axes.share_scale = all_but(from_axis(rank, 1, 2));
  return normalization_launches(operands, axes);
}

std::vector<KernelLaunch> row_layer_norm_gradient(const BuiltinLayer::Operands& operands) {
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

std::vector<KernelLaunch> pool_gradients(const BuiltinLayer::Operands& operands) {
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

std::vector<KernelLaunch> gather_gradients(const BuiltinLayer::Operands& operands) {
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
