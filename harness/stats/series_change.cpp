// SPDX-License-Identifier: Apache-2.0
#include "harness/stats/series_change.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace plumb::stats {

std::string_view to_text(StateChange::Kind kind) {
  constexpr std::array<std::string_view, 3> kNames{"low_level", "high_level", "high_share"};
  return kNames.at(static_cast<std::size_t>(kind));
}

namespace {

constexpr std::size_t kWindow = 11;
constexpr std::size_t kMinWindows = 5;
constexpr double kErrors = 6.0;

double compute_window_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Returns the standard error of a window's median. It is the root mean square of the differences
/// between adjacent windows, over √2. A creep that is spread over many windows hardly changes it.
double compute_error(std::span<const double> medians) {
  double sum = 0.0;
  std::size_t count = 0;
  for (std::size_t i = kWindow; i < medians.size(); i += kWindow, ++count) {
    const double difference = medians[i] - medians[i - kWindow];
    sum += difference * difference;
  }
  return std::sqrt(sum / static_cast<double>(count) / 2.0);
}

}  // namespace

std::optional<Creep> find_creep(std::span<const double> values) {
  if (values.size() < kWindow * kMinWindows ||
      std::any_of(values.begin(), values.end(), [](double value) { return !(value > 0.0); })) {
    return std::nullopt;
  }
  std::vector<double> medians;  // of logarithms, by the window's first point
  for (std::size_t i = 0; i + kWindow <= values.size(); ++i) {
    std::vector<double> window;
    for (const double value : values.subspan(i, kWindow)) {
      window.push_back(std::log(value));
    }
    medians.push_back(compute_window_median(std::move(window)));
  }
  const auto best = std::min_element(medians.begin(), medians.end());
  const double rise = medians.back() - *best;
  if (rise < std::log1p(kMinCreep) || rise < kErrors * compute_error(medians)) {
    return std::nullopt;
  }
  return Creep{static_cast<std::size_t>(best - medians.begin()) + kWindow / 2,
               std::exp(*best),
               std::exp(medians.back())};
}

}  // namespace plumb::stats
