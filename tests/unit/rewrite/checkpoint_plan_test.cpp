// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/checkpoint_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>

namespace plumb::rewrite {
namespace {

using Chain = std::vector<CheckpointPlan::Stage>;

/// Tries every way to cut a chain into stretches.
void try_all(const Chain& chain,
             std::vector<CheckpointPlan::Stretch>& stretches,
             std::size_t first,
             const std::function<void(const std::vector<CheckpointPlan::Stretch>&)>& visit) {
  if (first == chain.size()) {
    visit(stretches);
    return;
  }
  for (std::size_t last = first; last < chain.size(); ++last) {
    for (const bool recomputed : {false, true}) {
      if (recomputed || last == first) {
        stretches.push_back({first, last, recomputed});
        try_all(chain, stretches, last + 1, visit);
        stretches.pop_back();
      }
    }
  }
}

/// Plays the backward pass stage by stage, and returns the most bytes at once.
std::int64_t played_peak(const Chain& chain,
                         const std::vector<CheckpointPlan::Stretch>& stretches) {
  std::vector<std::int64_t> inner(chain.size());
  std::vector<std::int64_t> result(chain.size());
  for (const CheckpointPlan::Stretch& stretch : stretches) {
    result[stretch.last] = chain[stretch.last].result;
    inner[stretch.last] = stretch.recomputed ? 0 : chain[stretch.last].inner;
  }
  std::int64_t peak = 0;
  for (auto stretch = stretches.rbegin(); stretch != stretches.rend(); ++stretch) {
    for (std::size_t stage = stretch->first; stage <= stretch->last; ++stage) {
      inner[stage] = chain[stage].inner;
      result[stage] = chain[stage].result;
    }
    for (std::size_t stage = stretch->last + 1; stage-- > stretch->first;) {
      std::int64_t held = chain[stage].backward;
      for (std::size_t other = 0; other < chain.size(); ++other) {
        held += inner[other] + result[other];
      }
      peak = std::max(peak, held);
      inner[stage] = 0;
      result[stage] = 0;
    }
  }
  return peak;
}

Chain random_chain(std::mt19937& random, std::size_t stages) {
  std::uniform_int_distribution<std::int64_t> bytes(1, 20);
  Chain chain;
  for (std::size_t i = 0; i < stages; ++i) {
    const double last = static_cast<double>(bytes(random));
    chain.push_back({last + static_cast<double>(bytes(random)),
                     last,
                     bytes(random) - 1,
                     bytes(random),
                     bytes(random)});
  }
  return chain;
}

TEST(CheckpointPlan, equals_brute_force_on_small_chains_under_every_cap) {
  std::mt19937 random(27);
  for (std::size_t stages = 1; stages <= 7; ++stages) {
    for (int round = 0; round < 20; ++round) {
      const Chain chain = random_chain(random, stages);
      std::int64_t least = std::numeric_limits<std::int64_t>::max();
      std::int64_t most = 0;
      std::vector<std::pair<std::int64_t, double>> all;
      std::vector<CheckpointPlan::Stretch> none;
      try_all(chain, none, 0, [&](const std::vector<CheckpointPlan::Stretch>& stretches) {
        const CheckpointPlan plan = price_stretches(chain, stretches);
        ASSERT_EQ(plan.peak, played_peak(chain, stretches));
        all.emplace_back(plan.peak, plan.recomputation);
        least = std::min(least, plan.peak);
        most = std::max(most, plan.peak);
      });
      EXPECT_FALSE(cheapest_checkpoints(chain, least - 1));
      EXPECT_EQ(smallest_checkpoints(chain).peak, least);
      for (std::int64_t cap = least; cap <= most; ++cap) {
        double cheapest = std::numeric_limits<double>::infinity();
        for (const auto& [peak, cost] : all) {
          cheapest = peak <= cap ? std::min(cheapest, cost) : cheapest;
        }
        const auto plan = cheapest_checkpoints(chain, cap);
        ASSERT_TRUE(plan);
        EXPECT_DOUBLE_EQ(plan->recomputation, cheapest) << stages << " stages, cap " << cap;
        EXPECT_LE(plan->peak, cap);
      }
    }
  }
}

TEST(CheckpointPlan, equal_stages_need_about_the_root_of_their_number) {
  const Chain chain(100, CheckpointPlan::Stage{1.0, 1.0, 0, 1, 0});
  const CheckpointPlan plan = smallest_checkpoints(chain);
  // Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016: checkpoints and one
  // stretch. Stretches that grow toward the front need √(2n), fewer than equal ones of √n.
  EXPECT_EQ(plan.peak, 14);
  EXPECT_LE(plan.recomputation, 100.0);
}

TEST(CheckpointPlan, front_goes_from_the_smallest_to_what_keeps_all) {
  std::mt19937 random(3);
  const Chain chain = random_chain(random, 12);
  const std::vector<CheckpointPlan> front = checkpoint_front(chain, 16);
  EXPECT_GT(front.size(), 3U);
  EXPECT_EQ(front.front().peak, smallest_checkpoints(chain).peak);
  EXPECT_EQ(front.back().recomputation, 0.0);
  for (std::size_t i = 1; i < front.size(); ++i) {
    EXPECT_GT(front[i].peak, front[i - 1].peak);
    EXPECT_LT(front[i].recomputation, front[i - 1].recomputation);
  }
}

}  // namespace
}  // namespace plumb::rewrite
