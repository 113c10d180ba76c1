// SPDX-License-Identifier: Apache-2.0
#include "harness/results/attributes.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/measure/sample_summary.hpp"

namespace plumb::results {

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

}  // namespace plumb::results
