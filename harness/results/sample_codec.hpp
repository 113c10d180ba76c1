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

namespace plumb::results {

/// Largest number of samples in one row that is stored or read.
inline constexpr std::size_t kMaxStoredSamples = std::size_t{1} << 20U;

/// Encodes raw samples compactly: usually two bytes a sample. No samples: an empty string.
///
/// The product sample × repetitions is the time of the whole batch, which the clock measured. It is
/// rounded to whole nanoseconds where all products are such (a nanosecond clock), else to steps of
/// 10 ps. A decoded sample is therefore within 5 ps ÷ repetitions of the original.
///
/// The layout is:
/// - one byte for the step ('n': 1 ns, 'p': 10 ps)
/// - the count as a varint (LEB128)
/// - the first product, then each difference to the one before, as zigzag varints
/// - the low 32 bits of XXH64 of all that, little-endian
///
/// Throws Error{kInternal} for a sample that is not finite, a product beyond ±10^7 s, repetitions
/// below one, or more than kMaxStoredSamples.
[[nodiscard]] std::string encode_samples(std::span<const Seconds> samples,
                                         std::int64_t repetitions);

/// Decodes what encode_samples wrote for the same repetitions. Absent if the bytes are anything
/// else: truncated, altered, with too many samples or bytes left over. Never reads beyond `bytes`.
[[nodiscard]] std::optional<std::vector<Seconds>> decode_samples(std::string_view bytes,
                                                                 std::int64_t repetitions);

}  // namespace plumb::results
