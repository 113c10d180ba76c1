// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/layer_race.hpp"

#include <gmock/gmock.h>

namespace plumb {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

RaceEntry entry(double time, bool library_choice = false) {
  return {Seconds(time), library_choice};
}

TEST(LayerRace, keeps_those_within_the_margin_fastest_first) {
  const std::vector<RaceEntry> entries{entry(1.09), entry(2.0), entry(1.0), entry(1.11)};
  EXPECT_THAT(race_winners(entries, 0.10, 3), ElementsAre(2, 0));
}

TEST(LayerRace, always_keeps_the_library_choice) {
  const std::vector<RaceEntry> entries{entry(1.0), entry(9.0, true), entry(1.05)};
  EXPECT_THAT(race_winners(entries, 0.10, 3), ElementsAre(0, 2, 1));
}

TEST(LayerRace, keeps_no_more_than_asked_beside_the_library_choice) {
  const std::vector<RaceEntry> entries{entry(1.03, true), entry(1.02), entry(1.01), entry(1.0)};
  EXPECT_THAT(race_winners(entries, 0.10, 2), ElementsAre(3, 2, 0));
}

TEST(LayerRace, passes_over_variants_without_a_time) {
  const std::vector<RaceEntry> entries{{std::nullopt, true}, entry(1.0)};
  EXPECT_THAT(race_winners(entries, 0.10, 3), ElementsAre(1));
  EXPECT_THAT(race_winners(std::vector<RaceEntry>{{std::nullopt, true}}, 0.10, 3), IsEmpty());
  EXPECT_THAT(race_winners({}, 0.10, 3), IsEmpty());
}

TEST(LayerRace, the_best_wins_even_if_nobody_may) {
  const std::vector<RaceEntry> entries{entry(1.0), entry(1.0)};
  EXPECT_THAT(race_winners(entries, 0.0, 0), ElementsAre(0));
}

}  // namespace
}  // namespace plumb
