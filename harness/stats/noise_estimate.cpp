// SPDX-License-Identifier: Apache-2.0
#include "harness/stats/noise_estimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "harness/stats/segmentation.hpp"

namespace plumb::stats {
namespace {

constexpr std::size_t kMedianReach = 5;  // the running median looks so far to both sides
constexpr double kClip = 2.5;            // deviations beyond which a value is an outlier
constexpr double kMad = 1.4826;          // median absolute deviation to standard deviation

/// Replaces one value of a sorted window by another.
void replace_sorted(std::vector<double>& window, double old, double next) {
  auto at = std::lower_bound(window.begin(), window.end(), old);
  for (; at + 1 != window.end() && *(at + 1) < next; ++at) {
    *at = *(at + 1);
  }
  for (; at != window.begin() && *(at - 1) > next; --at) {
    *at = *(at - 1);
  }
  *at = next;
}

/// Returns running medians of eleven points, of fewer at the ends. A sorted window slides over the
/// values.
std::vector<double> compute_running_median(std::span<const double> values) {
  constexpr std::size_t kWindow = 2 * kMedianReach + 1;
  std::vector<double> result(values.size());
  std::vector<double> window;
  for (std::size_t i = 0; i < values.size() + kMedianReach; ++i) {
    if (i < values.size() && i >= kWindow) {
      replace_sorted(window, values[i - kWindow], values[i]);
    } else if (i < values.size()) {
      window.insert(std::upper_bound(window.begin(), window.end(), values[i]), values[i]);
    } else if (i >= kWindow) {
      window.erase(std::lower_bound(window.begin(), window.end(), values[i - kWindow]));
    }
    if (i >= kMedianReach) {
      const std::size_t middle = window.size() / 2;
      result[i - kMedianReach] =
          window.size() % 2 == 1 ? window[middle] : (window[middle - 1] + window[middle]) / 2.0;
    }
  }
  return result;
}

/// Returns whether a value agrees with the points on one side, as the first or last of a level
/// does.
bool is_edge(std::span<const double> values, std::size_t at) {
  const auto agrees = [&](std::size_t begin) {
    std::array<double, kMedianReach> side{};
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(begin), kMedianReach, side.begin());
    std::sort(side.begin(), side.end());
    return std::abs(side[kMedianReach / 2] - values[at]) <= kClip;
  };
  return (at >= kMedianReach && agrees(at - kMedianReach)) ||
         (at + kMedianReach < values.size() && agrees(at + 1));
}

/// Clips outliers to the neighbourhood of the running median. Runs that are long enough for a level
/// stay, and so do the ends of levels.
std::vector<double> clip(std::span<const double> values) {
  const std::vector<double> smooth = compute_running_median(values);
  std::vector<double> result(values.begin(), values.end());
  const auto side = [&](std::size_t i) {
    const double off = values[i] - smooth[i];
    return std::abs(off) <= kClip ? 0 : (off > 0.0 ? 1 : -1);
  };
  for (std::size_t i = 0; i < values.size();) {
    const int first = side(i);
    std::size_t end = i + 1;
    while (first != 0 && end < values.size() && side(end) == first) {
      ++end;
    }
    if (first != 0 && end - i < kMinSegment) {
      for (std::size_t k = i; k < end; ++k) {
        result[k] = is_edge(values, k) ? values[k] : smooth[k] + first * kClip;
      }
    }
    i = end;
  }
  return result;
}

}  // namespace

double compute_median(std::vector<double>& scratch) {
  const auto middle = scratch.begin() + static_cast<std::ptrdiff_t>(scratch.size() / 2);
  std::nth_element(scratch.begin(), middle, scratch.end());
  if (scratch.size() % 2 == 1) {
    return *middle;
  }
  return (*middle + *std::max_element(scratch.begin(), middle)) / 2.0;
}

double compute_median(std::span<const double> values) {
  std::vector<double> scratch(values.begin(), values.end());
  return compute_median(scratch);
}

double estimate_noise(std::span<const double> values) {
  constexpr double kKept = 0.9;  // of the differences: steps and outliers make the largest
  std::vector<double> differences;
  for (std::size_t i = 1; i < values.size(); ++i) {
    differences.push_back(std::abs(values[i] - values[i - 1]));
  }
  // The difference of two independent values has √2 times the deviation of one.
  const double noise = kMad * compute_median(differences) / std::sqrt(2.0);
  if (noise > 0.0) {
    return noise;
  }
  std::sort(differences.begin(), differences.end());
  differences.resize(static_cast<std::size_t>(kKept * static_cast<double>(differences.size())));
  const double mean = std::accumulate(differences.begin(), differences.end(), 0.0) /
                      static_cast<double>(std::max<std::size_t>(differences.size(), 1));
  if (mean > 0.0) {
    return mean;
  }
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return (*high - *low) / 100.0;
}

std::optional<ScaledSeries> scale_series(std::span<const double> values) {
  ScaledSeries series;
  series.values.assign(values.begin(), values.end());
  series.logarithmic = *std::min_element(values.begin(), values.end()) > 0.0;
  if (series.logarithmic) {
    std::transform(
        values.begin(), values.end(), series.values.begin(), [](double v) { return std::log(v); });
  }
  series.centre = series.values[series.values.size() / 2];
  series.noise = estimate_noise(series.values);
  if (series.noise <= 0.0) {
    return std::nullopt;
  }
  for (double& value : series.values) {
    value = (value - series.centre) / series.noise;
  }
  series.clipped = clip(series.values);
  return series;
}

}  // namespace plumb::stats
