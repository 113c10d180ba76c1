// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/number_formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "harness/base/error.hpp"
#include "harness/model/key/tensor.hpp"

namespace plumb::engine {
namespace {

struct Bf16 {
  std::uint16_t bits;
};
struct F16 {
  std::uint16_t bits;
};
template <model::DataType Type>
struct F8 {
  std::uint8_t bits;
};
using F8E4M3 = F8<model::DataType::kF8E4M3>;
using F8E5M2 = F8<model::DataType::kF8E5M2>;
struct Bool {
  std::uint8_t bits;
};

/// Bit layout of an 8-bit float.
struct F8Format {
  unsigned fraction;  ///< bits of the fraction
  unsigned bias;      ///< of the exponent
  float largest;
};

F8Format f8_format(model::DataType type) {
  PLUMB_CHECK(model::is_f8(type));
  return type == model::DataType::kF8E4M3 ? F8Format{3, 7, 448.0F} : F8Format{2, 15, 57344.0F};
}

template <typename T>
T read(const std::byte* data, std::size_t element) {
  T value{};
  std::memcpy(&value, data + element * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
double to_number(T value) {
  return static_cast<double>(value);
}
double to_number(Bf16 value) {
  return static_cast<double>(float_from_bf16(value.bits));
}
double to_number(F16 value) {
  return static_cast<double>(float_from_f16(value.bits));
}
template <model::DataType Type>
double to_number(F8<Type> value) {
  return static_cast<double>(float_from_f8(Type, value.bits));
}
double to_number(Bool value) {
  return value.bits != 0 ? 1.0 : 0.0;
}

template <typename T>
T from_number(double number) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  if (std::isnan(number)) {
    return T{0};
  }
  if (number >= kTwoTo63) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    const bool fits = number < 2.0 * kTwoTo63;
    if constexpr (std::is_signed_v<T>) {
      return std::numeric_limits<T>::max();
    }
    return static_cast<T>(fits ? static_cast<std::uint64_t>(number) : kMost);
  }
  if (number < -kTwoTo63) {
    return std::numeric_limits<T>::min();
  }
  return static_cast<T>(static_cast<std::int64_t>(number));
}
template <>
double from_number<double>(double number) {
  return number;
}
template <>
float from_number<float>(double number) {
  return static_cast<float>(number);
}
template <>
Bf16 from_number<Bf16>(double number) {
  return {bf16_from(float_rounded_to_odd(number))};
}
template <>
F16 from_number<F16>(double number) {
  return {f16_from(float_rounded_to_odd(number))};
}
template <>
F8E4M3 from_number<F8E4M3>(double number) {
  return {f8_from(model::DataType::kF8E4M3, float_rounded_to_odd(number))};
}
template <>
F8E5M2 from_number<F8E5M2>(double number) {
  return {f8_from(model::DataType::kF8E5M2, float_rounded_to_odd(number))};
}
template <>
Bool from_number<Bool>(double number) {
  return {number != 0.0 ? std::uint8_t{1} : std::uint8_t{0}};
}

[[noreturn]] void refuse(model::DataType type) {
  throw Error(
      Error::Kind::kUser,
      fmt::format("elements of type {} cannot be computed with here: use f64, f32, f16, bf16, "
                  "f8e4m3, f8e5m2, an integer type or bool",
                  to_text(type)));
}

/// Calls `visit` with a value of the C++ type that stores elements of `type`.
template <typename Visitor>
auto with_storage(model::DataType type, Visitor&& visit) {
  switch (type) {
    case model::DataType::kF64:
      return visit(double{});
    case model::DataType::kF32:
      return visit(float{});
    case model::DataType::kF16:
      return visit(F16{});
    case model::DataType::kBf16:
      return visit(Bf16{});
    case model::DataType::kS64:
      return visit(std::int64_t{});
    case model::DataType::kS32:
      return visit(std::int32_t{});
    case model::DataType::kS16:
      return visit(std::int16_t{});
    case model::DataType::kS8:
      return visit(std::int8_t{});
    case model::DataType::kU64:
      return visit(std::uint64_t{});
    case model::DataType::kU32:
      return visit(std::uint32_t{});
    case model::DataType::kU16:
      return visit(std::uint16_t{});
    case model::DataType::kU8:
      return visit(std::uint8_t{});
    case model::DataType::kBool:
      return visit(Bool{});
    case model::DataType::kF8E4M3:
      return visit(F8E4M3{});
    case model::DataType::kF8E5M2:
      return visit(F8E5M2{});
    case model::DataType::kString:
      break;
  }
  refuse(type);
}

}  // namespace

std::uint16_t bf16_from(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) {
    return static_cast<std::uint16_t>((bits >> 16U) | 0x40U);
  }
  const std::uint32_t half_less_tie = 0x7FFFU + ((bits >> 16U) & 1U);
  return static_cast<std::uint16_t>((bits + half_less_tie) >> 16U);
}

float float_from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

std::uint16_t f16_from(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint32_t>((bits >> 16U) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  constexpr std::uint32_t kInfinity32 = 0x7F800000U;
  constexpr std::uint32_t kSmallestNormal16 = 0x38800000U;  // 2^-14
  constexpr std::uint32_t kOverflow16 = 0x477FF000U;        // 65520: halfway beyond the largest
  if (magnitude > kInfinity32) {
    return static_cast<std::uint16_t>(sign | 0x7E00U | ((magnitude >> 13U) & 0x3FFU));
  }
  if (magnitude >= kOverflow16) {
    return static_cast<std::uint16_t>(sign | 0x7C00U);
  }
  if (magnitude < kSmallestNormal16) {
    // One unit of a subnormal is 2^-24, the last bit of the sum, so that the addition rounds to it.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U));
  }
  const std::uint32_t half_less_tie = 0xFFFU + ((magnitude >> 13U) & 1U);
  const std::uint32_t rebased = magnitude - (112U << 23U) + half_less_tie;
  return static_cast<std::uint16_t>(sign | (rebased >> 13U));
}

float float_from_f16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 0x1FU;
  const std::uint32_t mantissa = bits & 0x3FFU;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return (sign != 0) ? -magnitude : magnitude;
  }
  const std::uint32_t rebased = exponent == 31U ? 255U : exponent + 112U;
  return std::bit_cast<float>(sign | (rebased << 23U) | (mantissa << 13U));
}

std::uint8_t f8_from(model::DataType type, float value) {
  constexpr std::uint8_t kNan = 0x7F;
  constexpr unsigned kFraction32 = 23;
  constexpr unsigned kBias32 = 127;
  const F8Format format = f8_format(type);
  if (std::isnan(value)) {
    return kNan;
  }
  const auto sign = static_cast<std::uint32_t>(std::signbit(value) ? 0x80U : 0U);
  const float magnitude = std::min(std::fabs(value), format.largest);
  const auto bits = std::bit_cast<std::uint32_t>(magnitude);
  const std::uint32_t smallest_normal = (kBias32 + 1U - format.bias) << kFraction32;
  if (bits < smallest_normal) {
    // In a sum with `ruler`, one unit of a subnormal is the last bit, so that the addition rounds
    // to it.
    const std::uint32_t ruler = smallest_normal + ((kFraction32 - format.fraction) << kFraction32);
    const float shifted = magnitude + std::bit_cast<float>(ruler);
    return static_cast<std::uint8_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - ruler));
  }
  const unsigned dropped = kFraction32 - format.fraction;
  const std::uint32_t half_less_tie = (1U << (dropped - 1U)) - 1U + ((bits >> dropped) & 1U);
  const std::uint32_t rebased = bits - ((kBias32 - format.bias) << kFraction32) + half_less_tie;
  return static_cast<std::uint8_t>(sign | (rebased >> dropped));
}

float float_from_f8(model::DataType type, std::uint8_t bits) {
  if (type == model::DataType::kF8E5M2) {  // a half without the last eight bits of its fraction
    return float_from_f16(static_cast<std::uint16_t>(bits << 8U));
  }
  const F8Format format = f8_format(type);
  const std::uint32_t sign = (bits & 0x80U) << 24U;
  const std::uint32_t magnitude = bits & 0x7FU;
  if (magnitude == 0x7FU) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  if (magnitude < (1U << format.fraction)) {
    const float subnormal = static_cast<float>(magnitude) * 0x1p-9F;
    return sign != 0 ? -subnormal : subnormal;
  }
  return std::bit_cast<float>(
      sign | ((magnitude << (23U - format.fraction)) + ((127U - format.bias) << 23U)));
}

float float_rounded_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const auto back = static_cast<double>(nearest);
  if (back == value || std::isnan(value)) {
    return nearest;
  }
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(back) > std::fabs(value)) {
    bits -= 1U;
  }
  return std::bit_cast<float>(bits | 1U);
}

bool is_number(model::DataType type) {
  return type != model::DataType::kString;
}

ElementReader reader_of(model::DataType type) {
  return with_storage(type, [](auto storage) -> ElementReader {
    return [](const std::byte* data, std::size_t element) {
      return to_number(read<decltype(storage)>(data, element));
    };
  });
}

double number_at(const model::Tensor& tensor, std::size_t element) {
  return reader_of(tensor.type.dtype)(tensor.data.data(), element);
}

void read_numbers(const model::Tensor& tensor, std::size_t first, std::span<double> numbers) {
  with_storage(tensor.type.dtype, [&](auto storage) {
    using Storage = decltype(storage);
    PLUMB_CHECK(first + numbers.size() <= tensor.data.size() / sizeof(Storage));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = to_number(read<Storage>(tensor.data.data(), first + i));
    }
  });
}

std::vector<double> read_numbers(const model::Tensor& tensor) {
  const auto count = static_cast<std::size_t>(element_count(tensor.type));
  const std::size_t has = with_storage(
      tensor.type.dtype, [&](auto storage) { return tensor.data.size() / sizeof(storage); });
  if (has < count) {
    throw Error(Error::Kind::kUser,
                fmt::format("a tensor of {} elements of {} came with {} bytes of data",
                            count,
                            to_text(tensor.type.dtype),
                            tensor.data.size()));
  }
  std::vector<double> numbers(count);
  read_numbers(tensor, 0, numbers);
  return numbers;
}

void write_numbers(model::Tensor& tensor, std::size_t first, std::span<const double> numbers) {
  with_storage(tensor.type.dtype, [&](auto storage) {
    using Storage = decltype(storage);
    PLUMB_CHECK(first + numbers.size() <= tensor.data.size() / sizeof(Storage));
    std::byte* to = tensor.data.data() + first * sizeof(Storage);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto element = from_number<Storage>(numbers[i]);
      std::memcpy(to + i * sizeof(Storage), &element, sizeof(Storage));
    }
  });
}

model::Tensor tensor_from(const model::TensorType& type, std::span<const double> numbers) {
  PLUMB_CHECK(static_cast<std::size_t>(element_count(type)) == numbers.size());
  model::Tensor tensor{
      type, std::vector<std::byte>(static_cast<std::size_t>(model::byte_size(type).value))};
  write_numbers(tensor, 0, numbers);
  return tensor;
}

namespace {

/// Returns whether no element's exponent bits are all ones. The loop has no branch for single
/// elements, so that the compiler vectorizes it.
bool all_finite_f32(std::span<const std::byte> elements) {
  constexpr std::uint32_t kExponent = 0x7F800000U;
  std::uint32_t bad = 0;
  for (std::size_t at = 0; at + sizeof(std::uint32_t) <= elements.size();
       at += sizeof(std::uint32_t)) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, elements.data() + at, sizeof bits);
    bad |= static_cast<std::uint32_t>((bits & kExponent) == kExponent);
  }
  return bad == 0;
}

}  // namespace

std::optional<std::size_t> first_not_finite(model::DataType type,
                                            std::span<const std::byte> elements) {
  if (!model::is_floating(type) || (type == model::DataType::kF32 && all_finite_f32(elements))) {
    return std::nullopt;
  }
  const ElementReader at = reader_of(type);
  const std::size_t count = elements.size() / static_cast<std::size_t>(model::element_bytes(type));
  for (std::size_t element = 0; element < count; ++element) {
    if (!std::isfinite(at(elements.data(), element))) {
      return element;
    }
  }
  return std::nullopt;
}

}  // namespace plumb::engine
