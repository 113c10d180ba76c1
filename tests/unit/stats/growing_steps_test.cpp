// SPDX-License-Identifier: Apache-2.0
//
// The same draw of noise with a step that grows: once found it stays found. 200 draws a cell; the
// fuller grid is in change_points_bench.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "harness/stats/change_points.hpp"
#include "tests/support/series_family.hpp"

namespace plumb::stats {
namespace {

constexpr int kDraws = 200;
constexpr std::array kSizes{2.5, 3.5, 5.0, 10.0, 25.0};
constexpr double kClear = 5.0;

/// One shape of a history: its length, and how many steps of what pattern it has.
struct Shape {
  std::size_t length;
  std::size_t steps;
  StepPattern pattern;
};
using P = StepPattern;
constexpr std::array kShapes{Shape{40, 1, P::kUp},
                             Shape{40, 1, P::kDown},
                             Shape{60, 1, P::kUp},
                             Shape{60, 1, P::kDown},
                             Shape{60, 2, P::kBack},
                             Shape{120, 1, P::kDown},
                             Shape{120, 2, P::kUp},
                             Shape{120, 3, P::kDown},
                             Shape{120, 4, P::kBack},
                             Shape{120, 5, P::kUp},
                             Shape{300, 1, P::kUp},
                             Shape{300, 3, P::kBack},
                             Shape{300, 5, P::kDown},
                             Shape{1000, 1, P::kDown},
                             Shape{1000, 5, P::kBack}};

bool all_found(const std::vector<double>& values, const std::vector<std::size_t>& places) {
  constexpr std::size_t kNear = 5;
  const std::vector<ChangePoint> found = detect_changes(values).change_points;
  return std::all_of(places.begin(), places.end(), [&](std::size_t place) {
    return std::any_of(found.begin(), found.end(), [&](const ChangePoint& point) {
      return point.index + kNear >= place && point.index <= place + kNear;
    });
  });
}

/// One family of noise, printed by its name in the list of tests.
struct NamedFamily {
  NoiseFamily family;
};
void PrintTo(const NamedFamily& named, std::ostream* out) {
  *out << kNoiseFamilyNames.at(static_cast<std::size_t>(named.family));
}

class GrowingSteps : public ::testing::TestWithParam<NamedFamily> {};

TEST_P(GrowingSteps, stay_found) {
  const NoiseFamily family = GetParam().family;
  const std::string_view name = kNoiseFamilyNames.at(static_cast<std::size_t>(family));
  int all_lost = 0;
  for (const auto& [length, steps, pattern] : kShapes) {
    SeriesFamily source(family, 2 * (length + steps) + 1);
    const std::vector<std::size_t> places = step_places(length, steps);
    int lost = 0;
    int clear = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      const std::vector<double> noise = source.draw(length);
      bool found_before = false;
      bool lost_here = false;
      for (const double size : kSizes) {
        // Steps of the size of the gap between two states make other states of them.
        if (family == NoiseFamily::kTwoStates && size < 3.0) {
          continue;
        }
        const bool found = all_found(with_steps(noise, places, pattern, size), places);
        lost_here = lost_here || (found_before && !found);
        found_before = found_before || found;
        clear += size == kClear && found ? 1 : 0;
      }
      lost += lost_here ? 1 : 0;
    }
    all_lost += lost;
    EXPECT_LE(lost, kDraws / 50) << name << ' ' << length << " points, " << steps << " steps";
    // Twenty points of a level in correlated noise say as much as seven independent ones.
    const bool short_levels =
        family == NoiseFamily::kAutocorrelated && length / (steps + 1) < 2 * 20;
    if (length >= 60) {
      EXPECT_GE(clear, kDraws * (short_levels ? 90 : 98) / 100)
          << name << ' ' << length << " points, " << steps << " steps";
    }
  }
  EXPECT_LE(all_lost, kDraws * static_cast<int>(kShapes.size()) / 100) << name;
}

std::vector<NamedFamily> named_families() {
  std::vector<NamedFamily> families;
  for (const NoiseFamily family : kNoiseFamilies) {
    families.push_back({family});
  }
  return families;
}

INSTANTIATE_TEST_SUITE_P(Families, GrowingSteps, ::testing::ValuesIn(named_families()));

}  // namespace
}  // namespace plumb::stats
