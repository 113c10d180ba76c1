// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include "harness/analysis/micro_batch/layer_division.hpp"

namespace plumb::analysis {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kMebibyte = 1 << 20;

/// Kernels of µ-cuDNN's own test: a fast one with 1 MiB an image, a slow one with one byte.
std::vector<LayerDivision::Batch::Part> planted_kernels(std::int64_t batch, std::int64_t below) {
  std::vector<LayerDivision::Batch::Part> kernels;
  for (const std::int64_t size :
       batch_sizes(results::VariantId::DivisionRule::Policy::kPowersOfTwo, batch)) {
    const auto images = static_cast<double>(size);
    if (size * kMebibyte < below) {
      kernels.push_back({size, Seconds(1e-3 * (0.1 * images + 0.01)), {size * kMebibyte}, "fast"});
    }
    kernels.push_back({size, Seconds(1e-3 * (10.0 * images + 0.1)), {size}, "slow"});
  }
  return kernels;
}

TEST(BatchDivision, has_the_published_front) {
  struct Point {
    double milliseconds;
    std::int64_t bytes;
    std::size_t kernels;
  };
  // spcl/ucudnn, test/dp.cpp: batch 256, powers of two, below 64 MiB.
  const std::vector<Point> expected{
      {2585.60, 1, 256},
      {2572.80, 2, 128},
      {2566.40, 4, 64},
      {2563.20, 8, 32},
      {2561.60, 16, 16},
      {2560.80, 32, 8},
      {2560.40, 64, 4},
      {2560.20, 128, 2},
      {2560.10, 256, 1},
      {28.16, 1048576, 256},
      {26.88, 2097152, 128},
      {26.24, 4194304, 64},
      {25.92, 8388608, 32},
      {25.76, 16777216, 16},
      {25.68, 33554432, 8},
  };
  const std::vector<LayerDivision::Batch> front =
      desirable_divisions(planted_kernels(256, 64 * kMebibyte), 256);
  ASSERT_EQ(front.size(), expected.size());
  for (std::size_t i = 0; i < front.size(); ++i) {
    EXPECT_NEAR(front[i].time.count() * 1e3, expected[i].milliseconds, 5e-3) << i;
    EXPECT_EQ(front[i].workspace.value, expected[i].bytes) << i;
    EXPECT_EQ(front[i].parts.size(), expected[i].kernels) << i;
  }
}

TEST(BatchDivision, takes_the_fastest_parts_that_keep_the_cap) {
  const std::vector<LayerDivision::Batch::Part> kernels = planted_kernels(32, 1024 * kMebibyte);
  const auto divided = [&](std::int64_t cap) {
    return fastest_division(kernels, 32, {cap}).value();
  };
  EXPECT_EQ(divided(32 * kMebibyte).parts.size(), 1U);
  const LayerDivision::Batch quarters = divided(8 * kMebibyte);
  EXPECT_EQ(quarters.parts.size(), 4U);
  EXPECT_EQ(quarters.workspace.value, 8 * kMebibyte) << "parts share it";
  EXPECT_NEAR(quarters.time.count(), 4 * 0.81e-3, 1e-9);
  EXPECT_EQ(divided(33).parts.front().variant, "slow");
  EXPECT_FALSE(fastest_division(kernels, 32, {0}).has_value());
}

TEST(BatchDivision, divides_into_unequal_parts) {
  const std::vector<LayerDivision::Batch::Part> kernels{
      {2, Seconds(1.0), {}, "a"}, {3, Seconds(1.1), {}, "b"}, {7, Seconds(9.0), {}, "whole"}};
  const LayerDivision::Batch division = fastest_division(kernels, 7, {}).value();
  std::vector<std::int64_t> sizes;
  for (const LayerDivision::Batch::Part& part : division.parts) {
    sizes.push_back(part.batch);
  }
  EXPECT_THAT(sizes, ElementsAre(3, 2, 2));
  EXPECT_NEAR(division.time.count(), 3.1, 1e-12);
  EXPECT_FALSE(
      fastest_division(std::vector<LayerDivision::Batch::Part>{{2, Seconds(1.0), {}, "a"}}, 7, {}));
}

TEST(BatchDivision, allows_the_sizes_of_its_policy) {
  EXPECT_THAT(batch_sizes(results::VariantId::DivisionRule::Policy::kUndivided, 6), ElementsAre(6));
  EXPECT_THAT(batch_sizes(results::VariantId::DivisionRule::Policy::kPowersOfTwo, 6),
              ElementsAre(1, 2, 4, 6));
  EXPECT_THAT(batch_sizes(results::VariantId::DivisionRule::Policy::kPowersOfTwo, 8),
              ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(batch_sizes(results::VariantId::DivisionRule::Policy::kAll, 4),
              ElementsAre(1, 2, 3, 4));
}

/// Returns the least time of all divisions of a batch, by trying them all.
double least_time(const std::vector<LayerDivision::Batch::Part>& kernels,
                  std::int64_t batch,
                  std::int64_t cap,
                  std::size_t from = 0) {
  if (batch == 0) {
    return 0.0;
  }
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = from; i < kernels.size(); ++i) {
    if (kernels[i].batch <= batch && kernels[i].workspace.value <= cap) {
      least = std::min(
          least, kernels[i].time.count() + least_time(kernels, batch - kernels[i].batch, cap, i));
    }
  }
  return least;
}

TEST(BatchDivision, is_as_fast_as_every_other_division) {
  std::mt19937 random(1);
  const auto draw = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  for (int trial = 0; trial < 300; ++trial) {
    SCOPED_TRACE(trial);
    const int batch = draw(1, 9);
    std::vector<LayerDivision::Batch::Part> kernels;
    for (int i = draw(1, 7); i > 0; --i) {
      kernels.push_back({draw(1, batch), Seconds(draw(1, 50)), {draw(0, 6)}, ""});
    }
    std::vector<LayerDivision::Batch> front = desirable_divisions(kernels, batch);
    for (std::int64_t cap = 0; cap <= 6; ++cap) {
      const double least = least_time(kernels, batch, cap);
      const std::optional<LayerDivision::Batch> division = fastest_division(kernels, batch, {cap});
      ASSERT_EQ(division.has_value(), std::isfinite(least));
      const auto beyond =
          std::find_if(front.begin(), front.end(), [&](const LayerDivision::Batch& at) {
            return at.workspace.value > cap;
          });
      ASSERT_EQ(beyond != front.begin(), std::isfinite(least));
      if (division) {
        EXPECT_DOUBLE_EQ(division->time.count(), least);
        EXPECT_LE(division->workspace.value, cap);
        EXPECT_DOUBLE_EQ(std::prev(beyond)->time.count(), least);
        std::int64_t images = 0;
        for (const LayerDivision::Batch::Part& part : division->parts) {
          images += part.batch;
        }
        EXPECT_EQ(images, batch);
      }
    }
  }
}

}  // namespace
}  // namespace plumb::analysis
