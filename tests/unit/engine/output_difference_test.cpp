// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "runners/engine/exec/model_values.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb::engine {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

std::vector<model::Tensor> tensors(const std::vector<std::vector<double>>& numbers) {
  std::vector<model::Tensor> result;
  for (const std::vector<double>& each : numbers) {
    const model::TensorType type{
        model::DataType::kF32, {static_cast<std::int64_t>(each.size())}, false, {}};
    result.push_back(tensor_from(type, each));
  }
  return result;
}

TEST(OutputDifference, distance_of_a_kind_is_relative_to_the_norm_of_all_of_it) {
  const std::vector<std::size_t> kinds{0, 1, 1};
  // The second gradient is zero but for rounding, and counts beside the first.
  const std::vector<double> distances = distances_by_kind(
      tensors({{2.5}, {3.0, 4.3}, {0.4}}), tensors({{2.0}, {3.0, 4.0}, {0.0}}), kinds);
  EXPECT_THAT(distances, ElementsAre(DoubleNear(0.25, 1e-6), DoubleNear(0.1, 1e-6)));
}

TEST(OutputDifference, what_rounding_moves_is_tolerated_and_no_more) {
  // The loss may differ by 1e-3; states move by 2e-3 by rounding, so by 8e-3 at most.
  const std::vector<double> rounding{1e-6, 2e-3};
  EXPECT_FALSE(worst_distance(std::vector<double>{1e-4, 7e-3}, rounding, 1e-3).is_beyond());
  EXPECT_TRUE(worst_distance(std::vector<double>{1e-4, 9e-3}, rounding, 1e-3).is_beyond());
  EXPECT_TRUE(worst_distance(std::vector<double>{2e-3, 7e-3}, rounding, 1e-3).is_beyond());
  EXPECT_DOUBLE_EQ(worst_distance(std::vector<double>{1e-4, 7e-3}, rounding, 1e-3).most, 8e-3);
  EXPECT_TRUE(worst_distance(std::vector<double>{1e-4, 7e-3}, {}, 1e-3).is_beyond());
}

TEST(OutputDifference, nothing_explains_a_third_or_what_is_no_number) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(worst_distance(std::vector<double>{0.4}, std::vector<double>{1.0}, 1e-3).is_beyond());
  EXPECT_DOUBLE_EQ(worst_distance(std::vector<double>{0.2}, std::vector<double>{1.0}, 1e-3).most,
                   0.3);
  EXPECT_FALSE(worst_distance(std::vector<double>{0.9}, std::vector<double>{0.3}, 0.1).is_beyond());
  EXPECT_TRUE(worst_distance(std::vector<double>{0.9}, std::vector<double>{0.2}, 0.1).is_beyond());
  EXPECT_TRUE(worst_distance(std::vector<double>{1.1}, std::vector<double>{2.0}, 0.1).is_beyond());
  EXPECT_TRUE(worst_distance(std::vector<double>{nan}, std::vector<double>{1.0}, 1e-3).is_beyond());
  EXPECT_TRUE(worst_distance(std::vector<double>{0.2}, std::vector<double>{nan}, 1e-3).is_beyond());
}

}  // namespace
}  // namespace plumb::engine
