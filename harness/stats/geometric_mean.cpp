// SPDX-License-Identifier: Apache-2.0
#include "harness/stats/geometric_mean.hpp"

#include <cmath>

#include "harness/base/error.hpp"
#include "harness/stats/student_t.hpp"

namespace plumb::stats {

std::optional<GeometricMean> geometric_mean(std::span<const double> values) {
  if (values.empty()) {
    return std::nullopt;
  }
  const auto n = static_cast<double>(values.size());
  double sum = 0.0;
  for (const double value : values) {
    PLUMB_CHECK(value > 0.0 && std::isfinite(value));
    sum += std::log(value);
  }
  const double mean = sum / n;
  GeometricMean result{.mean = std::exp(mean), .low = {}, .high = {}, .n = values.size()};
  if (values.size() > 1) {
    double squares = 0.0;
    for (const double value : values) {
      const double distance = std::log(value) - mean;
      squares += distance * distance;
    }
    const double reach = t_quantile(0.975, n - 1.0) * std::sqrt(squares / (n - 1.0) / n);
    result.low = std::exp(mean - reach);
    result.high = std::exp(mean + reach);
  }
  return result;
}

}  // namespace plumb::stats
