// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/section_interval.hpp"

#include <algorithm>
#include <cmath>

#include "harness/stats/student_t.hpp"

namespace plumb::measure {

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
