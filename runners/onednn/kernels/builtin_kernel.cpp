// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/kernels/builtin_kernel.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "harness/model/key/tensor.hpp"
#include "runners/engine/number_formats.hpp"
#include "runners/onednn/exec/primitive_parts.hpp"
#include "runners/onednn/exec/variant_builder.hpp"

namespace plumb::onednn {
namespace {

Buffer plain_buffer(Buffer::Role role,
                    std::size_t operand,
                    bool weight,
                    const model::TensorType& type) {
  Buffer buffer;
  buffer.role = role;
  buffer.operand = operand;
  buffer.weight = weight;
  buffer.bytes = static_cast<std::size_t>(model::byte_size(type).value);
  return buffer;
}

}  // namespace

void add_own(VariantBuilder::List& list,
             const model::LayerSpec& spec,
             const std::string& name,
             BuiltinKernel kernel) {
  require(spec.epilogue.empty(), spec, "built-in kernels fuse nothing");
  VariantBuilder builder;
  builder.implementation = "plumb:" + name;
  builder.build = [spec, implementation = builder.implementation, kernel = std::move(kernel)] {
    ExecutionPlan plan;
    plan.implementation = implementation;
    for (std::size_t index = 0; index < spec.inputs.size(); ++index) {
      const bool present = spec.has_input(index);
      plan.buffers.push_back(
          present
              ? plain_buffer(
                    Buffer::Role::kInput, index, spec.inputs[index]->constant, *spec.inputs[index])
              : Buffer{});
    }
    for (std::size_t index = 0; index < spec.outputs.size(); ++index) {
      plan.outputs.push_back(plan.buffers.size());
      plan.buffers.push_back(
          plain_buffer(Buffer::Role::kOutput, index, false, spec.outputs[index]));
    }
    plan.steps.emplace_back(
        KernelStep([kernel, inputs = spec.inputs.size()](std::span<std::byte* const> buffers) {
          kernel(KernelOperands(buffers, inputs));
        }));
    return plan;
  };
  list.add(std::move(builder));
}

void require(bool condition, const model::LayerSpec& spec, const char* what) {
  if (!condition) {
    throw Unsupported(fmt::format("{}: {}", spec.op, what));
  }
}

void require_operands(const model::LayerSpec& spec, std::size_t count) {
  bool complete = spec.inputs.size() >= count && spec.outputs.size() == 1;
  for (std::size_t index = 0; complete && index < count; ++index) {
    complete = spec.has_input(index);
  }
  if (!complete) {
    throw Unsupported(fmt::format("{} needs {} operands and one output", spec.op, count));
  }
}

std::size_t moved_element_bytes(const model::LayerSpec& spec) {
  const model::DataType type = spec.inputs.at(0).value().dtype;
  const std::int64_t bytes = model::element_bytes(type);
  require(bytes > 0 && spec.outputs.at(0).dtype == type,
          spec,
          "element types must agree and have a size");
  return static_cast<std::size_t>(bytes);
}

namespace {

template <typename Element, typename Number>
void load_as(const std::byte* source, std::size_t count, Number* destination) {
  for (std::size_t index = 0; index < count; ++index) {
    Element element;
    std::memcpy(&element, source + index * sizeof element, sizeof element);
    // NOLINTNEXTLINE(bugprone-signed-char-misuse): a number, no character
    destination[index] = static_cast<Number>(element);
  }
}

/// Drops the fraction. Numbers beyond 64 bits become the nearest end, and NaN becomes 0.
template <typename Number>
std::int64_t whole(Number number) {
  if constexpr (std::is_integral_v<Number>) {
    return number;
  } else {
    constexpr Number kEnd = static_cast<Number>(9223372036854775808.0);
    if (std::isnan(number)) {
      return 0;
    }
    if (number >= kEnd) {
      return INT64_MAX;
    }
    return number < -kEnd ? INT64_MIN : static_cast<std::int64_t>(number);
  }
}

template <typename Element, typename Number>
void store_as(const Number* source, std::size_t count, std::byte* destination) {
  for (std::size_t index = 0; index < count; ++index) {
    Element element;
    if constexpr (std::is_floating_point_v<Element>) {
      element = static_cast<Element>(source[index]);
    } else {
      element = static_cast<Element>(whole(source[index]));
    }
    std::memcpy(destination + index * sizeof element, &element, sizeof element);
  }
}

template <typename Number>
void load_halves(float (*convert)(std::uint16_t),
                 const std::byte* source,
                 std::size_t count,
                 Number* destination) {
  for (std::size_t index = 0; index < count; ++index) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, source + index * sizeof bits, sizeof bits);
    destination[index] = static_cast<Number>(convert(bits));
  }
}

template <typename Number>
void store_halves(std::uint16_t (*convert)(float),
                  const Number* source,
                  std::size_t count,
                  std::byte* destination) {
  for (std::size_t index = 0; index < count; ++index) {
    const std::uint16_t bits = convert(static_cast<float>(source[index]));
    std::memcpy(destination + index * sizeof bits, &bits, sizeof bits);
  }
}

[[noreturn]] void refuse(model::DataType type) {
  throw Unsupported(fmt::format("built-in kernels do not calculate with {}", model::to_text(type)));
}

}  // namespace

model::DataType calculation_type(model::DataType type) {
  if (type == model::DataType::kF64) {
    return model::DataType::kF64;
  }
  return model::is_floating(type) ? model::DataType::kF32 : model::DataType::kS64;
}

void check_number(model::DataType type) {
  if (!engine::is_number(type) || model::is_f8(type)) {
    refuse(type);
  }
}

template <typename Number>
void load(model::DataType type, const std::byte* source, std::size_t count, Number* destination) {
  switch (type) {
    case model::DataType::kF64:
      return load_as<double>(source, count, destination);
    case model::DataType::kF32:
      return load_as<float>(source, count, destination);
    case model::DataType::kBf16:
      return load_halves(engine::float_from_bf16, source, count, destination);
    case model::DataType::kF16:
      return load_halves(engine::float_from_f16, source, count, destination);
    case model::DataType::kS64:
      return load_as<std::int64_t>(source, count, destination);
    case model::DataType::kU64:
      return load_as<std::uint64_t>(source, count, destination);
    case model::DataType::kS32:
      return load_as<std::int32_t>(source, count, destination);
    case model::DataType::kU32:
      return load_as<std::uint32_t>(source, count, destination);
    case model::DataType::kS16:
      return load_as<std::int16_t>(source, count, destination);
    case model::DataType::kU16:
      return load_as<std::uint16_t>(source, count, destination);
    case model::DataType::kS8:
      return load_as<std::int8_t>(source, count, destination);
    case model::DataType::kU8:
    case model::DataType::kBool:
      return load_as<std::uint8_t>(source, count, destination);
    default:
      refuse(type);
  }
}

template <typename Number>
void store(model::DataType type, const Number* source, std::size_t count, std::byte* destination) {
  switch (type) {
    case model::DataType::kF64:
      return store_as<double>(source, count, destination);
    case model::DataType::kF32:
      return store_as<float>(source, count, destination);
    case model::DataType::kBf16:
      return store_halves(engine::bf16_from, source, count, destination);
    case model::DataType::kF16:
      return store_halves(engine::f16_from, source, count, destination);
    case model::DataType::kS64:
      return store_as<std::int64_t>(source, count, destination);
    case model::DataType::kU64:
      return store_as<std::uint64_t>(source, count, destination);
    case model::DataType::kS32:
      return store_as<std::int32_t>(source, count, destination);
    case model::DataType::kU32:
      return store_as<std::uint32_t>(source, count, destination);
    case model::DataType::kS16:
      return store_as<std::int16_t>(source, count, destination);
    case model::DataType::kU16:
      return store_as<std::uint16_t>(source, count, destination);
    case model::DataType::kS8:
      return store_as<std::int8_t>(source, count, destination);
    case model::DataType::kU8:
      return store_as<std::uint8_t>(source, count, destination);
    case model::DataType::kBool:
      for (std::size_t index = 0; index < count; ++index) {
        destination[index] = std::byte{source[index] != Number{0}};
      }
      return;
    default:
      refuse(type);
  }
}

template void load(model::DataType, const std::byte*, std::size_t, float*);
template void load(model::DataType, const std::byte*, std::size_t, double*);
template void load(model::DataType, const std::byte*, std::size_t, std::int64_t*);
template void store(model::DataType, const float*, std::size_t, std::byte*);
template void store(model::DataType, const double*, std::size_t, std::byte*);
template void store(model::DataType, const std::int64_t*, std::size_t, std::byte*);

KernelOperands::Rows::Rows(const model::LayerSpec& spec, std::size_t operands) {
  require_operands(spec, operands);
  const std::vector<std::int64_t> result = padded_to_rank(spec.outputs[0].dims, 1);
  const std::size_t last = result.size() - 1;
  extents_.assign(result.begin(), result.end() - 1);
  strides_.resize(last);
  length_ = static_cast<std::size_t>(result[last]);
  for (std::size_t operand = 0; operand < operands; ++operand) {
    const auto& own = spec.inputs[operand]->dims;
    require(own.size() <= result.size(), spec, "an operand has more dimensions than the output");
    const auto dims = padded_to_rank(own, result.size());
    const auto strides = dense_strides(dims);
    for (std::size_t axis = 0; axis <= last; ++axis) {
      require(dims[axis] == result[axis] || dims[axis] == 1,
              spec,
              "operands do not broadcast to the output");
      const std::size_t step = dims[axis] == 1 ? 0 : static_cast<std::size_t>(strides[axis]);
      (axis == last ? last_[operand] : strides_[axis][operand]) = step;
    }
  }
}

}  // namespace plumb::onednn
