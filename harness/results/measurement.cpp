// SPDX-License-Identifier: Apache-2.0
#include "harness/results/measurement.hpp"

#include <algorithm>
#include <array>

#include "harness/base/parsed_text.hpp"

namespace plumb::results {
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

}  // namespace plumb::results
