// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "harness/analysis/limits/batch_curve.hpp"

namespace plumb::analysis {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

/// Makes a layer with a time. Its operations grow with its channels.
SingleLayerResult make_layer(const std::string& key, std::int64_t macs, double seconds) {
  SingleLayerResult result;
  result.layer.key = {key};
  result.cost.macs = macs;
  result.time.emplace();
  result.time->time.median = Seconds(seconds);
  return result;
}

/// Makes a convolution with as many filters as channels, of 1000 operations each.
SingleLayerResult make_conv(std::int64_t channels,
                            double seconds,
                            const std::string& type = "f32") {
  return make_layer(
      fmt::format("v1:conv;in={0}[1,{1},8,8],{0}[{1},{1},3,3]c;group=1", type, channels),
      1000 * channels,
      seconds);
}

std::vector<std::int64_t> extents_of(const RateCliff& cliff) {
  std::vector<std::int64_t> extents;
  for (const RateCliff::Point& point : cliff.points) {
    extents.push_back(point.extent);
  }
  return extents;
}

TEST(RateCliff, is_one_layer_at_extents_that_ascend_wherever_they_stand_in_the_key) {
  const std::vector<SingleLayerResult> layers{
      make_conv(65, 1e-3), make_conv(64, 1e-4), make_conv(63, 1e-4)};
  const std::vector<RateCliff> cliffs = find_cliffs(layers);
  ASSERT_EQ(cliffs.size(), 1U);
  EXPECT_THAT(extents_of(cliffs[0]), ElementsAre(63, 64, 65));
  EXPECT_DOUBLE_EQ(cliffs[0].points[1].macs_per_second, 64'000 / 1e-4);
  EXPECT_EQ(cliffs[0].points[2].layer, &layers[0]);
  EXPECT_THAT(cliffs[0].steepest(), DoubleEq((65'000 / 1e-3) / (64'000 / 1e-4)));
}

TEST(RateCliff, the_steepest_comes_first) {
  std::vector<SingleLayerResult> layers;
  for (const std::int64_t channels : {8, 16, 32}) {
    layers.push_back(make_conv(channels, 1e-6 * static_cast<double>(channels)));
  }
  for (const std::int64_t channels : {8, 16, 32}) {
    layers.push_back(make_conv(channels, channels == 16 ? 1.0 : 1e-3, "bf16"));
  }
  const std::vector<RateCliff> cliffs = find_cliffs(layers);
  ASSERT_EQ(cliffs.size(), 2U);
  EXPECT_EQ(cliffs[0].points[0].layer, &layers[3]);
  EXPECT_DOUBLE_EQ(cliffs[0].steepest(), 2e-3);
  EXPECT_DOUBLE_EQ(cliffs[1].steepest(), 1.0) << "the rate stays";
}

TEST(RateCliff, needs_three_layers_with_a_time) {
  std::vector<SingleLayerResult> layers{make_conv(63, 1e-4), make_conv(64, 1e-4)};
  EXPECT_TRUE(find_cliffs(layers).empty());
  layers.push_back(make_conv(65, 1e-3));
  EXPECT_EQ(find_cliffs(layers).size(), 1U);
  layers.back().time.reset();
  EXPECT_TRUE(find_cliffs(layers).empty());
  layers.back() = make_layer(layers.back().layer.key.text, 0, 1e-3);
  EXPECT_TRUE(find_cliffs(layers).empty()) << "nothing is multiplied";
}

TEST(RateCliff, is_of_one_extent_alone) {
  // Both the image and the channels differ: no line has three points.
  const auto conv = [](int channels, int image) {
    return make_layer(
        fmt::format("v1:conv;in=f32[1,{},{},{}]", channels, image, image), 1000, 1e-3);
  };
  EXPECT_TRUE(find_cliffs(std::vector{conv(8, 7), conv(16, 14), conv(32, 28)}).empty());
  const auto grid = std::vector{conv(8, 7), conv(16, 7), conv(32, 7), conv(8, 14), conv(8, 28)};
  const std::vector<RateCliff> cliffs = find_cliffs(grid);
  ASSERT_EQ(cliffs.size(), 2U);
  EXPECT_THAT(extents_of(cliffs[0]), ElementsAre(8, 16, 32));
  EXPECT_THAT(extents_of(cliffs[1]), ElementsAre(7, 14, 28));
}

TEST(RateCliff, takes_no_types_and_no_huge_numbers_for_extents) {
  const auto typed = [](const std::string& type) { return make_layer("v1:x;in=" + type, 1, 1.0); };
  EXPECT_TRUE(find_cliffs(std::vector{typed("u8[2]"), typed("u16[2]"), typed("u32[2]")}).empty());
  const std::string huge(40, '9');
  EXPECT_TRUE(
      find_cliffs(std::vector{typed("f[1" + huge), typed("f[2" + huge), typed("f[3" + huge)})
          .empty());
}

}  // namespace
}  // namespace plumb::analysis
