// SPDX-License-Identifier: Apache-2.0
#include "harness/results/measurement.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

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

void FastestPace::take_in(const Measurement& row) {
  const auto found = row.readings.find(kHostPace);
  if (found != row.readings.end() && found->second.low > 0.0) {
    const double low = found->second.low;
    sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), low), low);
  }
}

std::optional<Seconds> FastestPace::seconds() const {
  constexpr std::size_t kShare = 20;
  return sorted_.empty() ? std::nullopt : std::optional(Seconds(sorted_[sorted_.size() / kShare]));
}

}  // namespace plumb::results
