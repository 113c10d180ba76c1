// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "runners/engine/bench/layer_measurement.hpp"

namespace plumb::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Times = std::vector<std::optional<Seconds>>;

TEST(LayerRace, keeps_those_within_the_margin_fastest_first) {
  const Times times{Seconds(1.09), Seconds(2.0), Seconds(1.0), Seconds(1.11)};
  EXPECT_THAT(within_margin(times, 0.10), ElementsAre(2, 0));
  EXPECT_THAT(within_margin(times, 0.0), ElementsAre(2));
}

TEST(LayerRace, equal_times_keep_their_order) {
  EXPECT_THAT(within_margin(Times{Seconds(1.0), Seconds(1.0)}, 0.0), ElementsAre(0, 1));
}

TEST(LayerRace, passes_over_variants_without_a_time) {
  EXPECT_THAT(within_margin(Times{std::nullopt, Seconds(1.0)}, 0.10), ElementsAre(1));
  EXPECT_THAT(within_margin(Times{std::nullopt}, 0.10), IsEmpty());
  EXPECT_THAT(within_margin({}, 0.10), IsEmpty());
}

TEST(LayerRace, halves_until_few_are_left) {
  EXPECT_EQ(survivors(16, 2), 8U);
  EXPECT_EQ(survivors(5, 2), 3U);
  EXPECT_EQ(survivors(3, 2), 2U);
  EXPECT_EQ(survivors(2, 2), 2U);
  EXPECT_EQ(survivors(1, 2), 1U);
}

}  // namespace
}  // namespace plumb::engine
