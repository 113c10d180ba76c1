// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/units.hpp"

namespace plumb {

/// Largest number of samples in one row that is stored or read.
inline constexpr std::size_t kMaximumSamples = std::size_t{1} << 20U;

/// Encodes raw samples compactly: usually two bytes a sample. No samples: an empty string.
///
/// What a clock measured is the whole batch, sample × repetitions; that product is rounded to whole
/// nanoseconds where all of them are (a nanosecond clock), else to steps of 10 ps. So a decoded
/// sample is within 5 ps ÷ repetitions of the original.
/// Layout: one byte for the step ('n': 1 ns, 'p': 10 ps); the count as a varint (LEB128); the first
/// product and then each difference to the one before, as zigzag varints; the low 32 bits of
/// XXH64 of all that, little-endian.
/// Throws Error{kInternal} for a sample that is not finite, a product beyond ±10^7 s, repetitions
/// below one, or more than kMaximumSamples.
[[nodiscard]] std::string encode_samples(std::span<const Seconds> samples,
                                         std::int64_t repetitions);

/// Decodes what encode_samples wrote for the same repetitions. Absent: the bytes are not that
/// (truncated, altered, too many samples, bytes left over). Never reads beyond `bytes`.
[[nodiscard]] std::optional<std::vector<Seconds>> decode_samples(std::string_view bytes,
                                                                 std::int64_t repetitions);

}  // namespace plumb
