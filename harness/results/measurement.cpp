// SPDX-License-Identifier: Apache-2.0
#include "harness/results/measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "harness/base/digest.hpp"
#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/base/parsed_text.hpp"
#include "harness/measure/sample_summary.hpp"

namespace plumb::results {
namespace {

constexpr std::array<std::string_view, 8> kNames{"ok",
                                                 "unsupported",
                                                 "out_of_memory",
                                                 "wrong_result",
                                                 "timed_out",
                                                 "crashed",
                                                 "unstable",
                                                 "skipped"};

}  // namespace

std::string_view to_text(Outcome::Kind kind) {
  return enum_text(kNames, kind);
}

std::optional<Outcome::Kind> parse_outcome_kind(std::string_view text) {
  return parse_enum<Outcome::Kind>(kNames, text);
}

std::optional<Reading> summarize_reading(std::span<const double> values) {
  if (values.empty() || !std::all_of(values.begin(), values.end(), [](double value) {
        return std::isfinite(value);
      })) {
    return std::nullopt;
  }
  std::vector<Seconds> samples;  // the summary's rule is the same in every unit
  samples.reserve(values.size());
  for (const double value : values) {
    samples.emplace_back(value);
  }
  const measure::SampleSummary summary = measure::summarize(samples);
  return Reading{summary.median.count(),
                 summary.interval.low.count(),
                 summary.interval.high.count(),
                 static_cast<std::int64_t>(summary.n)};
}

bool is_attribute_name(const std::string& name) {
  return !name.empty() && name.size() <= kMaxAttributeName &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '.' || c == '-';
         });
}

Attributes short_attributes(const Attributes& attributes, std::size_t most) {
  Attributes result;
  for (const auto& [name, text] : attributes) {
    if (text.size() <= most) {
      result.emplace(name, text);
    }
  }
  return result;
}

void add_readings(Readings& sum, const Readings& block) {
  for (const auto& [name, reading] : block) {
    const auto [place, is_new] = sum.try_emplace(name, reading);
    if (is_new) {
      continue;
    }
    Reading& known = place->second;
    const auto before = static_cast<double>(known.n);
    const auto more = static_cast<double>(reading.n);
    known.median = (known.median * before + reading.median * more) / (before + more);
    known.low = std::min(known.low, reading.low);
    known.high = std::max(known.high, reading.high);
    known.n += reading.n;
  }
}

namespace {

constexpr std::array<std::string_view, 3> kCacheModes{"none", "weights", "all"};
constexpr std::array<std::string_view, 3> kPurposes{"race", "full", "confirm"};

}  // namespace

std::string_view to_text(CacheMode mode) {
  return enum_text(kCacheModes, mode);
}

std::optional<CacheMode> parse_cache_mode(std::string_view text) {
  return parse_enum<CacheMode>(kCacheModes, text);
}

std::string_view to_text(Purpose purpose) {
  return enum_text(kPurposes, purpose);
}

std::optional<Purpose> parse_purpose(std::string_view text) {
  return parse_enum<Purpose>(kPurposes, text);
}

measure::SampleSummary Measurement::corrected() const {
  const auto less_floor = [this](Seconds raw) { return std::max(raw - floor, Seconds{}); };
  measure::SampleSummary result = summary;
  result.median = less_floor(summary.median);
  result.interval.low = less_floor(summary.interval.low);
  result.interval.high = less_floor(summary.interval.high);
  result.min = less_floor(summary.min);
  result.p90 = less_floor(summary.p90);
  result.mean = less_floor(summary.mean);
  return result;
}

void Measurement::FastestPace::take_in(const Measurement& row) {
  const auto found = row.readings.find(kHostPace);
  if (found != row.readings.end() && found->second.low > 0.0) {
    const double low = found->second.low;
    sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), low), low);
  }
}

std::optional<Seconds> Measurement::FastestPace::seconds() const {
  constexpr std::size_t kShare = 20;
  return sorted_.empty() ? std::nullopt : std::optional(Seconds(sorted_[sorted_.size() / kShare]));
}

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
