// SPDX-License-Identifier: Apache-2.0
#include "harness/results/measurement.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::results {
namespace {

constexpr std::array<std::pair<CacheMode, std::string_view>, 3> kCacheModes{{
    {CacheMode::kNone, "none"},
    {CacheMode::kWeights, "weights"},
    {CacheMode::kAll, "all"},
}};
constexpr std::array<std::pair<Purpose, std::string_view>, 3> kPurposes{{
    {Purpose::kRace, "race"},
    {Purpose::kFull, "full"},
    {Purpose::kConfirm, "confirm"},
}};

}  // namespace

std::string_view to_text(CacheMode mode) {
  for (const auto& [value, name] : kCacheModes) {
    if (value == mode) {
      return name;
    }
  }
  PLUMB_CHECK(false && "a cache mode without a name");
}

std::optional<CacheMode> parse_cache_mode(std::string_view text) {
  for (const auto& [value, name] : kCacheModes) {
    if (name == text) {
      return value;
    }
  }
  return std::nullopt;
}

std::string_view to_text(Purpose purpose) {
  for (const auto& [value, name] : kPurposes) {
    if (value == purpose) {
      return name;
    }
  }
  PLUMB_CHECK(false && "a purpose without a name");
}

std::optional<Purpose> parse_purpose(std::string_view text) {
  for (const auto& [value, name] : kPurposes) {
    if (name == text) {
      return value;
    }
  }
  return std::nullopt;
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
