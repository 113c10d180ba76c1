// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "harness/model/key/tensor.hpp"

namespace plumb::engine {

/// Rounds to bfloat16, to the nearest, ties to even. NaN stays a quiet NaN. Numbers beyond the
/// largest value become infinity.
[[nodiscard]] std::uint16_t bf16_from(float value);
[[nodiscard]] float float_from_bf16(std::uint16_t bits);

/// Rounds to IEEE binary16, to the nearest, ties to even, with subnormals. Overflow becomes
/// infinity.
[[nodiscard]] std::uint16_t f16_from(float value);
[[nodiscard]] float float_from_f16(std::uint16_t bits);

/// Rounds to an 8-bit float (OFP8), to the nearest, ties to even, with subnormals. Numbers beyond
/// the largest one, infinity too, become that number (ONNX's Cast with saturate). NaN stays NaN.
/// Throws Error{kInternal} for another type.
[[nodiscard]] std::uint8_t f8_from(model::DataType type, float value);
[[nodiscard]] float float_from_f8(model::DataType type, std::uint8_t bits);

/// Rounds to a float by round to odd, so that a second rounding, to at most 22 bits, is exact. Its
/// result is then the one of rounding `value` once (Boldo and Melquiond, "Emulation of FMA and
/// correctly rounded sums", 2008, §3).
[[nodiscard]] float float_rounded_to_odd(double value);

/// Returns whether elements of the type can be read and written as numbers: all types but string.
[[nodiscard]] bool is_number(model::DataType type);

/// Function that reads one element of a tensor's data as a double. Elements count from the start of
/// the data. Integers beyond 2^53 are rounded. A bool is 0 or 1.
using ElementReader = double (*)(const std::byte* data, std::size_t element);

/// Returns the reader of a type. Throws Error{kUser} for string.
[[nodiscard]] ElementReader reader_of(model::DataType type);

/// Reads one element with the reader of the tensor's type. Throws as reader_of() does.
[[nodiscard]] double number_at(const model::Tensor& tensor, std::size_t element);

/// Reads all elements. Throws Error{kUser} as number_at() does, and if the data is shorter than the
/// type says.
[[nodiscard]] std::vector<double> read_numbers(const model::Tensor& tensor);

/// Reads elements from `first` on, one for each of `numbers`. Throws Error{kUser} for string, and
/// Error{kInternal} if the tensor is too short.
void read_numbers(const model::Tensor& tensor, std::size_t first, std::span<double> numbers);

/// Writes numbers over a tensor's elements from `first` on, in the tensor's type.
///
/// - Floating types round to the nearest, ties to even. 8-bit floats end at their largest number.
/// - Integers drop the fraction and wrap around as two's complement. NaN becomes 0, and numbers
///   beyond 64 bits become the nearest end.
/// - A bool says whether the number differs from 0.
///
/// Throws Error{kInternal} if the tensor is too short.
void write_numbers(model::Tensor& tensor, std::size_t first, std::span<const double> numbers);

/// Makes a tensor from numbers as write_numbers() writes them. Throws Error{kInternal} unless there
/// are element_count(type) numbers.
[[nodiscard]] model::Tensor tensor_from(const model::TensorType& type,
                                        std::span<const double> numbers);

/// Returns the index of the first dense element that is infinite or not a number. Returns nothing
/// if there is none, or if the type has no such values. Fast enough to check every answer of a
/// model.
[[nodiscard]] std::optional<std::size_t> first_not_finite(model::DataType type,
                                                          std::span<const std::byte> elements);

}  // namespace plumb::engine
