// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/model/tensor.hpp"

namespace plumb {

/// Rounds to bfloat16, nearest even; NaN stays NaN (quiet), beyond the largest value becomes
/// infinity.
[[nodiscard]] std::uint16_t bf16_from(float value);
[[nodiscard]] float float_from_bf16(std::uint16_t bits);

/// Rounds to IEEE binary16, nearest even, with subnormals; overflow becomes infinity.
[[nodiscard]] std::uint16_t f16_from(float value);
[[nodiscard]] float float_from_f16(std::uint16_t bits);

/// Rounds to an 8-bit float (OFP8), nearest even, with subnormals: what is beyond the largest
/// number, infinity too, becomes that (ONNX's Cast with saturate); NaN stays NaN. Throws
/// Error{kInternal} for another type.
[[nodiscard]] std::uint8_t f8_from(DataType type, float value);
[[nodiscard]] float float_from_f8(DataType type, std::uint8_t bits);

/// Rounds to a float so that rounding that float again, to at most 22 bits, gives what rounding
/// `value` once would give (round to odd; Boldo and Melquiond, "Emulation of FMA and correctly
/// rounded sums", 2008, §3).
[[nodiscard]] float float_rounded_to_odd(double value);

/// Returns whether elements of the type can be read and written as numbers here: all but string.
[[nodiscard]] bool is_number(DataType type);

/// Reads one element, counted from the start of a tensor's data, as a double (integers beyond 2^53
/// are rounded; bool is 0 or 1).
using ElementReader = double (*)(const std::byte* data, std::size_t element);

/// Finds the reader of a type. Throws Error{kUser} for a type that is not a number here.
[[nodiscard]] ElementReader reader_of(DataType type);

/// Reads one element with the reader of the tensor's type; throws as that does.
[[nodiscard]] double number_at(const Tensor& tensor, std::size_t element);

/// Reads all elements. Throws as number_at does, and if the data is shorter than the type says.
[[nodiscard]] std::vector<double> numbers_of(const Tensor& tensor);

/// Writes numbers over a tensor's elements from `first` on, in its type: floating types round to
/// nearest even, those of 8 bits end at their largest; integers drop the fraction and wrap around
/// as two's complement (NaN: 0; beyond 64 bits: the nearest end); bool is whether the number
/// differs from 0. Throws Error{kInternal} if the tensor is too short for them.
void write_numbers(Tensor& tensor, std::size_t first, std::span<const double> numbers);

/// Makes a tensor of numbers, written as write_numbers does. Throws Error{kInternal} unless there
/// are element_count(type) of them.
[[nodiscard]] Tensor tensor_from(const TensorType& type, std::span<const double> numbers);

}  // namespace plumb
