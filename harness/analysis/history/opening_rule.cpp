// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/history/opening_rule.hpp"

#include <algorithm>

namespace plumb::analysis {
namespace {

constexpr double kMaxFalse = 0.01;  // quiet series of a hundred that open something on any night
constexpr double kMeanDwell = 30.0;
constexpr double kDwellOfStep = 1.2;  // runs of a level × relative step
constexpr std::size_t kWindow = 120;

bool is_near(std::size_t one, std::size_t other) {
  return one <= other + kMaxMove && other <= one + kMaxMove;
}

}  // namespace

bool shows_clearly(std::span<const stats::ChangePoint> points,
                   const stats::ChangePoint& change,
                   std::size_t runs,
                   std::span<const std::size_t> explained) {
  if ((1.0 - change.confidence) * static_cast<double>(runs) > kMaxFalse) {
    return false;
  }
  const std::size_t newest = std::min(runs, kWindow);
  const auto changes = std::count_if(points.begin(), points.end(), [&](const auto& point) {
    return point.index <= change.index && point.index + newest >= runs &&
           (point.index == change.index ||
            std::none_of(explained.begin(), explained.end(), [&](std::size_t run) {
              return is_near(point.index, run);
            }));
  });
  const double dwell = static_cast<double>(newest) / static_cast<double>(changes + 1);
  return dwell >= std::min(kMeanDwell, kDwellOfStep / (change.after / change.before - 1.0));
}

}  // namespace plumb::analysis
