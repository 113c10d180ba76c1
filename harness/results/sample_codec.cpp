// SPDX-License-Identifier: Apache-2.0
#include "harness/results/sample_codec.hpp"

#include <fmt/format.h>

#include <cmath>

#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/base/hash64.hpp"

namespace plumb::results {
namespace {

constexpr double kStepsPerSecondNano = 1e9;
constexpr double kStepsPerSecondFine = 1e11;
constexpr double kMaximumProduct = 1e7;  // seconds; × 1e11 stays within 63 bits
constexpr std::int64_t kMaximumSteps = 1'000'000'000'000'000'000;
constexpr std::size_t kChecksumBytes = 4;

std::uint32_t compute_checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(hash64(std::as_bytes(std::span(bytes))));
}

std::uint64_t zigzag(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return (bits << 1U) ^ (value < 0 ? ~std::uint64_t{0} : 0);
}

std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1U) ^ (~(value & 1U) + 1));
}

// The product of a nanosecond clock comes back from division and multiplication within a few ulps.
// 1e-3 ns is far above that for batches up to hours, and far below what 10 ps steps resolve.
bool all_whole_nanoseconds(std::span<const Seconds> samples, double repetitions) {
  for (const Seconds sample : samples) {
    const double nanoseconds = sample.count() * repetitions * kStepsPerSecondNano;
    if (std::abs(nanoseconds - std::nearbyint(nanoseconds)) > 1e-3) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string encode_samples(std::span<const Seconds> samples, std::int64_t repetitions) {
  if (samples.empty()) {
    return {};
  }
  PLUMB_CHECK(repetitions >= 1);
  PLUMB_CHECK(samples.size() <= kMaxStoredSamples);
  const auto factor = static_cast<double>(repetitions);
  for (const Seconds sample : samples) {
    const double product = sample.count() * factor;
    if (!std::isfinite(product) || std::abs(product) > kMaximumProduct) {
      throw Error(Error::Kind::kInternal,
                  fmt::format("a sample of {} s × {} repetitions cannot be stored; please report "
                              "this bug",
                              sample.count(),
                              repetitions));
    }
  }
  const bool whole = all_whole_nanoseconds(samples, factor);
  const double steps_per_second = whole ? kStepsPerSecondNano : kStepsPerSecondFine;
  std::string out;
  out.reserve(samples.size() * 3 + 8);
  out += whole ? 'n' : 'p';
  put_varint(out, samples.size());
  std::int64_t before = 0;
  for (const Seconds sample : samples) {
    const auto steps = std::llrint(sample.count() * factor * steps_per_second);
    put_varint(out, zigzag(steps - before));
    before = steps;
  }
  const std::uint32_t checksum = compute_checksum(out);
  for (unsigned shift = 0; shift < 32; shift += 8) {
    out += static_cast<char>((checksum >> shift) & 0xFFU);
  }
  return out;
}

std::optional<std::vector<Seconds>> decode_samples(std::string_view bytes,
                                                   std::int64_t repetitions) {
  std::vector<Seconds> samples;
  if (bytes.empty()) {
    return samples;
  }
  if (bytes.size() < kChecksumBytes + 2 || repetitions < 1) {
    return std::nullopt;
  }
  std::string_view in = bytes.substr(0, bytes.size() - kChecksumBytes);
  std::uint32_t checksum = 0;
  for (unsigned i = 0; i < kChecksumBytes; ++i) {
    checksum |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[in.size() + i]))
                << (8 * i);
  }
  if (checksum != compute_checksum(in) || (in.front() != 'n' && in.front() != 'p')) {
    return std::nullopt;
  }
  const double steps_per_second = in.front() == 'n' ? kStepsPerSecondNano : kStepsPerSecondFine;
  in.remove_prefix(1);
  const std::optional<std::uint64_t> count = take_varint(in);
  // Each sample takes at least one byte, so that a huge count cannot cause a huge allocation.
  if (!count || *count == 0 || *count > in.size() || *count > kMaxStoredSamples) {
    return std::nullopt;
  }
  samples.reserve(*count);
  std::int64_t steps = 0;
  for (std::uint64_t i = 0; i < *count; ++i) {
    const std::optional<std::uint64_t> encoded = take_varint(in);
    if (!encoded) {
      return std::nullopt;
    }
    const std::int64_t delta = unzigzag(*encoded);
    if (delta > 2 * kMaximumSteps || delta < -2 * kMaximumSteps) {
      return std::nullopt;
    }
    steps += delta;
    if (steps > kMaximumSteps || steps < -kMaximumSteps) {
      return std::nullopt;
    }
    samples.emplace_back(static_cast<double>(steps) / steps_per_second /
                         static_cast<double>(repetitions));
  }
  if (!in.empty()) {
    return std::nullopt;
  }
  return samples;
}

}  // namespace plumb::results
