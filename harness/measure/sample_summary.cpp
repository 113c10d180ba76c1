// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/sample_summary.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "harness/stats/statistical_tests.hpp"

namespace plumb::measure {
namespace {

constexpr double kCompany = 1.02;  // how close a second sample must be to the minimum

}  // namespace

Seconds quantile(std::span<const Seconds> sorted, double p) {
  if (sorted.empty()) {
    return Seconds(0.0);
  }
  const double position = std::clamp(p, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double fraction = position - static_cast<double>(below);
  return sorted[below] + (sorted[above] - sorted[below]) * fraction;
}

std::optional<std::size_t> median_interval_rank(std::size_t n) {
  constexpr double kTail = 0.025;
  if (n < 6) {
    return std::nullopt;
  }
  const auto count = static_cast<double>(n);
  // The sum starts ten standard deviations below the mean. It has O(√n) terms, and those left out
  // add nothing.
  const double first = std::max(0.0, std::floor(count / 2.0 - 5.0 * std::sqrt(count)));
  double probability = std::exp(std::lgamma(count + 1.0) - std::lgamma(first + 1.0) -
                                std::lgamma(count - first + 1.0) - count * std::log(2.0));
  double cumulative = probability;
  double k = first;
  while (cumulative <= kTail) {
    k += 1.0;
    probability *= (count - k + 1.0) / k;
    cumulative += probability;
  }
  // P(X ≤ k − 1) ≤ 2.5% < P(X ≤ k): rank k counted from 1.
  return static_cast<std::size_t>(k);
}

std::optional<double> relative_half_width(const SampleSummary& summary) {
  if (summary.median <= Seconds(0.0)) {
    return std::nullopt;
  }
  return (summary.interval.high - summary.interval.low) / summary.median / 2.0;
}

SampleSummary summarize(std::span<const Seconds> samples) {
  SampleSummary summary;
  summary.n = samples.size();
  if (samples.empty()) {
    return summary;
  }
  std::vector<Seconds> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  summary.median = quantile(sorted, 0.5);
  summary.min = sorted.front();
  summary.p90 = quantile(sorted, 0.9);
  summary.mean = std::accumulate(sorted.begin(), sorted.end(), Seconds(0.0)) /
                 static_cast<double>(sorted.size());
  summary.interval = {sorted.front(), sorted.back()};
  if (const auto rank = median_interval_rank(sorted.size())) {
    summary.interval = {sorted[*rank - 1], sorted[sorted.size() - *rank]};
  }
  if (sorted.size() > 1) {
    const Seconds limit = summary.min * kCompany;
    summary.min_has_company = sorted[1] <= limit || summary.median <= limit;
  }
  return summary;
}

Interval section_interval(Seconds whole, std::span<const Seconds> of_sections) {
  if (of_sections.size() < 2) {
    return {Seconds(0.0), 2.0 * whole};
  }
  double squares = 0.0;
  for (const Seconds section : of_sections) {
    squares += std::pow((section - whole).count(), 2);
  }
  const auto n = static_cast<double>(of_sections.size());
  const Seconds reach{stats::t_quantile(0.975, n - 1.0) * std::sqrt(squares / (n - 1.0) / n)};
  return {std::max(whole - reach, Seconds(0.0)), whole + reach};
}

}  // namespace plumb::measure
