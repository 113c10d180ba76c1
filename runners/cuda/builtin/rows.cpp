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

const model::TensorType& real_input(const OwnOperands& operands) {
  const model::TensorType& x = operands.input(0);
  if (!model::is_floating(x.dtype)) {
    throw Unsupported(fmt::format("an input of {}", to_text(x.dtype)));
  }
  return x;
}

KernelLaunch normalized(const OwnOperands& operands, RowShape shape, bool centred, bool biased) {
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

std::vector<KernelLaunch> row_softmax(const OwnOperands& operands) {
  const model::TensorType& x = real_input(operands);
  const auto axis = static_cast<std::size_t>(operands.spec().integer("axis"));
  const bool coerce = operands.spec().integer("coerce") != 0;
  const RowParting parting(x.dims,
                           {operands.output_strides(), operands.input_strides(0)},
                           from_axis(x.dims.size(), axis, coerce ? x.dims.size() : axis + 1));
  RowShape shape = parting.shape();
  shape.flag = static_cast<int>(operands.spec().integer("log"));
  return {row_launch(fmt::format("softmax<{}, {}>", compute_name(x.dtype), element_name(x.dtype)),
                     shape,
                     {operands.output_buffer(), operands.input_buffer(0)})};
}

std::vector<KernelLaunch> row_layer_norm(const OwnOperands& operands) {
  const model::TensorType& x = real_input(operands);
  const bool biased = operands.spec().has_input(2);
  std::vector<Dimensions> strides{operands.output_strides(), operands.input_strides(0)};
  for (std::size_t i = 1; i < 3; ++i) {
    const std::size_t from = i == 2 && !biased ? 1 : i;
    strides.push_back(
        broadcast_strides(operands.input(from).dims, operands.input_strides(from), x.dims));
  }
  const auto axis = static_cast<std::size_t>(operands.spec().integer("axis"));
  const RowParting parting(x.dims, strides, from_axis(x.dims.size(), axis, x.dims.size()));
  return {normalized(operands, parting.shape(), operands.spec().op == "layer_norm", biased)};
}

std::vector<KernelLaunch> row_channel_norm(const OwnOperands& operands) {
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
  const RowParting parting(parted(x.dims, groups, in_group), strides, in_line);
  return {normalized(operands, parting.shape(), true, true)};
}

std::vector<KernelLaunch> row_batch_norm_training(const OwnOperands& operands) {
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
  RowShape shape = RowParting(x.dims,
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

std::vector<KernelLaunch> row_reduce(const OwnOperands& operands) {
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
  const RowParting parting(x.dims, {to, operands.input_strides(0)}, in_line);
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

std::vector<KernelLaunch> row_arg_reduce(const OwnOperands& operands) {
  const model::TensorType& x = operands.input(0);
  const auto axis = static_cast<std::size_t>(operands.spec().integer("axis"));
  Dimensions kept = x.dims;
  kept.at(axis) = 1;
  const RowParting parting(
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

}  // namespace plumb::cuda
