// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "harness/model/key/tensor.hpp"
#include "runners/cuda/builtin/builtin_layer.hpp"

namespace plumb::cuda {
namespace {

using kernels::MapShape;

constexpr double kLargestInteger = 9.2e18;  // stands for an infinite bound in 64 bits

constexpr std::array<std::string_view, 6> kOfIntegers{
    "relu", "clip", "abs", "neg", "sign", "linear"};

MapShape map_shape(const Dimensions& extents, const std::vector<Dimensions>& strides) {
  MapShape shape{};
  shape.space = joined_space(extents, strides);
  return shape;
}

KernelLaunch launched(std::string call, const MapShape& shape, std::vector<std::size_t> operands) {
  return element_launch(std::move(call), "MapShape", shape, shape.space.count, std::move(operands));
}

/// Returns the name of a type that casts read and write. Other kernels do not compute with 8-bit
/// floats.
std::string cast_name(model::DataType type) {
  if (model::is_f8(type)) {
    return type == model::DataType::kF8E4M3 ? "Float8E4M3" : "Float8E5M2";
  }
  return element_name(type);
}

/// Returns the name of the type in which two operands are computed: the more exact of theirs.
std::string common_compute_name(model::DataType a, model::DataType b) {
  std::string one = compute_name(a);
  const std::string other = compute_name(b);
  if (one == other) {
    return one;
  }
  const bool reads_half = a == model::DataType::kF16 || b == model::DataType::kF16 ||
                          a == model::DataType::kBf16 || b == model::DataType::kBf16;
  if (one == "double" || other == "double") {
    if (reads_half || a == model::DataType::kBool || b == model::DataType::kBool) {
      throw Unsupported(fmt::format("{} together with {}", to_text(a), to_text(b)));
    }
    return "double";
  }
  return "float";
}

KernelLaunch two(const BuiltinLayer::Operands& operands,
                 const std::string& function,
                 std::size_t left,
                 std::size_t left_buffer,
                 std::size_t right) {
  const model::TensorType& y = operands.output();
  const model::TensorType& a = operands.input(left);
  const model::TensorType& b = operands.input(right);
  const MapShape shape =
      map_shape(y.dims,
                {operands.output_strides(),
                 broadcast_strides(a.dims, operands.input_strides(left), y.dims),
                 broadcast_strides(b.dims, operands.input_strides(right), y.dims)});
  return launched(fmt::format("map_two<{}, {}, {}, {}, {}>",
                              function,
                              common_compute_name(a.dtype, b.dtype),
                              element_name(y.dtype),
                              element_name(a.dtype),
                              element_name(b.dtype)),
                  shape,
                  {operands.output_buffer(), left_buffer, operands.input_buffer(right)});
}

}  // namespace

std::string function_name(const std::string& fn) {
  // Names that C++ reserves have others in the kernels.
  constexpr std::array kOthers = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"and", "both"}, {"or", "either"}, {"xor", "one_only"}, {"not", "negation"}});
  for (const auto& [name, other] : kOthers) {
    if (fn == name) {
      return fmt::format("{}_of", other);
    }
  }
  return fn + "_of";
}

std::vector<KernelLaunch> map_eltwise(const BuiltinLayer::Operands& operands) {
  const model::TensorType& x = operands.input(0);
  const model::TensorType& y = operands.output();
  const std::string& fn = operands.spec().text("fn");
  const std::string compute = compute_name(x.dtype);
  const bool of_integers =
      std::find(kOfIntegers.begin(), kOfIntegers.end(), fn) != kOfIntegers.end();
  if (compute == "Index" && fn != "not" && !of_integers) {
    throw Unsupported(fmt::format("'{}' of integers", fn));
  }
  MapShape shape = map_shape(y.dims, {operands.output_strides(), operands.input_strides(0)});
  const std::vector<double>& parameters = operands.spec().reals("parameters");
  for (std::size_t i = 0; i < parameters.size() && i < 2; ++i) {
    shape.parameters[i] = compute == "Index"
                              ? std::clamp(parameters[i], -kLargestInteger, kLargestInteger)
                              : parameters[i];
  }
  return {launched(fmt::format("map_one<{}, {}, {}, {}>",
                               function_name(fn),
                               compute,
                               element_name(y.dtype),
                               element_name(x.dtype)),
                   shape,
                   {operands.output_buffer(), operands.input_buffer(0)})};
}

std::vector<KernelLaunch> map_binary(const BuiltinLayer::Operands& operands) {
  const bool slope = operands.spec().op == "prelu";
  return {two(operands,
              slope ? "prelu_of" : function_name(operands.spec().text("fn")),
              0,
              operands.input_buffer(0),
              1)};
}

std::vector<KernelLaunch> map_many(const BuiltinLayer::Operands& operands) {
  const std::string function =
      function_name(operands.spec().op == "sum" ? "add" : operands.spec().op);
  for (std::size_t i = 0; i < operands.spec().inputs.size(); ++i) {
    if (operands.input(i).dims != operands.output().dims ||
        operands.input(i).dtype != operands.output().dtype ||
        operands.input(i).constant != operands.input(0).constant) {
      throw Unsupported("operands of different types or shapes");
    }
  }
  std::vector<KernelLaunch> launches{two(operands, function, 0, operands.input_buffer(0), 1)};
  for (std::size_t i = 2; i < operands.spec().inputs.size(); ++i) {
    launches.push_back(two(operands, function, 0, operands.output_buffer(), i));
  }
  return launches;
}

std::vector<KernelLaunch> map_cast(const BuiltinLayer::Operands& operands) {
  const model::TensorType& x = operands.input(0);
  const model::TensorType& y = operands.output();
  return {launched(fmt::format("map_one<same_of, {}, {}, {}>",
                               model::is_f8(x.dtype) ? "float" : compute_name(x.dtype),
                               cast_name(y.dtype),
                               cast_name(x.dtype)),
                   map_shape(y.dims, {operands.output_strides(), operands.input_strides(0)}),
                   {operands.output_buffer(), operands.input_buffer(0)})};
}

std::vector<KernelLaunch> map_where(const BuiltinLayer::Operands& operands) {
  const model::TensorType& y = operands.output();
  std::vector<Dimensions> strides{operands.output_strides()};
  for (std::size_t i = 0; i < 3; ++i) {
    strides.push_back(broadcast_strides(operands.input(i).dims, operands.input_strides(i), y.dims));
  }
  return {launched(fmt::format("choose<{}>", moved_name(y.dtype)),
                   map_shape(y.dims, strides),
                   {operands.output_buffer(),
                    operands.input_buffer(0),
                    operands.input_buffer(1),
                    operands.input_buffer(2)})};
}

std::vector<KernelLaunch> map_batch_norm(const BuiltinLayer::Operands& operands) {
  const model::TensorType& x = operands.input(0);
  const bool spatial = operands.spec().text("mode") == "spatial";
  std::vector<Dimensions> strides{operands.output_strides(), operands.input_strides(0)};
  for (std::size_t i = 1; i < 5; ++i) {
    const Dimensions& dims = operands.input(i).dims;
    if (!spatial) {
      strides.push_back(broadcast_strides(dims, operands.input_strides(i), x.dims));
      continue;
    }
    Dimensions along_channels(x.dims.size(), 0);
    if (x.dims.size() > 1) {
      along_channels[1] = 1;
    }
    strides.push_back(std::move(along_channels));
    if (operands.input(i).dtype != operands.input(1).dtype) {
      throw Unsupported("parameters of several types");
    }
  }
  MapShape shape = map_shape(x.dims, strides);
  shape.parameters[0] = operands.spec().real("epsilon");
  return {launched(fmt::format("normalize_known<{}, {}, {}, {}>",
                               compute_name(x.dtype),
                               element_name(operands.output().dtype),
                               element_name(x.dtype),
                               element_name(operands.input(1).dtype)),
                   shape,
                   {operands.output_buffer(), 0, 1, 2, 3, 4})};
}

std::vector<KernelLaunch> map_response(const BuiltinLayer::Operands& operands) {
  const model::TensorType& x = operands.input(0);
  const model::LayerSpec& spec = operands.spec();
  if (x.dims.size() < 2 || !model::is_floating(x.dtype)) {
    throw Unsupported("an input without channels, or of integers");
  }
  const std::int64_t size = spec.integer("size");
  kernels::ResponseShape shape{};
  shape.space = plain_space(x.dims, {operands.output_strides(), operands.input_strides(0)});
  shape.before = (size - 1) / 2;
  shape.after = size - 1 - shape.before;
  shape.alpha_by_size = spec.real("alpha") / static_cast<double>(size);
  shape.beta = spec.real("beta");
  shape.bias = spec.real("bias");
  return {
      element_launch(fmt::format("response<{}, {}>", compute_name(x.dtype), element_name(x.dtype)),
                     "ResponseShape",
                     shape,
                     shape.space.count,
                     {operands.output_buffer(), operands.input_buffer(0)})};
}

}  // namespace plumb::cuda
