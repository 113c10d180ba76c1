// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "runners/engine/exec/schedule.hpp"
#include "runners/engine/random_stream.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::engine {
namespace {

/// Makes steps that need up to three of the ten before them.
StepNeeds random_needs(const RandomStream& random, std::size_t steps) {
  StepNeeds needs(steps);
  std::uint64_t at = 0;
  for (std::size_t step = 1; step < steps; ++step) {
    for (std::uint64_t i = random.below(at++, 4); i > 0; --i) {
      const std::size_t back = 1 + random.below(at++, std::min<std::size_t>(step, 10));
      if (std::find(needs[step].begin(), needs[step].end(), step - back) == needs[step].end()) {
        needs[step].push_back(step - back);
      }
    }
  }
  return needs;
}

TEST(BranchSchedule, puts_branches_side_by_side_and_keeps_each_on_its_lane) {
  // 0 opens, 1 2 and 3 4 are branches, 5 joins them.
  const StepNeeds needs{{}, {0}, {1}, {0}, {3}, {2, 4}};
  const BranchSchedule schedule =
      schedule_branches(needs, std::vector<double>{1, 5, 5, 4, 4, 1}, 2);
  EXPECT_EQ(schedule.lanes, (std::vector<std::vector<std::size_t>>{{0, 1, 2, 5}, {3, 4}}));
  EXPECT_EQ(schedule.waits, (StepNeeds{{}, {}, {}, {0}, {}, {4}}));
}

TEST(BranchSchedule, leaves_a_chain_on_one_lane) {
  const BranchSchedule schedule =
      schedule_branches({{}, {0}, {1}}, std::vector<double>{1, 1, 1}, 2);
  EXPECT_EQ(schedule.lanes, (std::vector<std::vector<std::size_t>>{{0, 1, 2}, {}}));
}

TEST(BranchSchedule, keeps_every_need_whatever_the_graph) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const RandomStream random(seed);
    const StepNeeds needs = random_needs(random, 60);
    std::vector<double> costs;
    for (std::size_t step = 0; step < needs.size(); ++step) {
      costs.push_back(1.0 + static_cast<double>(random.below(1000 + step, 100)));
    }
    const BranchSchedule schedule = schedule_branches(needs, costs, 3);
    std::vector<std::size_t> all;
    for (const std::vector<std::size_t>& lane : schedule.lanes) {
      all.insert(all.end(), lane.begin(), lane.end());
    }
    std::sort(all.begin(), all.end());
    ASSERT_EQ(all.size(), needs.size());
    ASSERT_EQ(std::unique(all.begin(), all.end()), all.end());
    const MemoryPlan::Order order(schedule.needs());
    for (std::size_t step = 0; step < needs.size(); ++step) {
      for (const std::size_t need : needs[step]) {
        ASSERT_TRUE(order.before(need, step)) << "seed " << seed;
      }
    }
  }
}

TEST(BranchSchedule, results_share_bytes_only_if_one_is_always_done_with) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const RandomStream random(seed);
    const StepNeeds needs = random_needs(random, 60);
    const BranchSchedule schedule =
        schedule_branches(needs, std::vector<double>(needs.size(), 1.0), 2);
    const MemoryPlan::Order order(schedule.needs());
    std::vector<MemoryPlan::Piece> pieces;  // each step's result, read by those that need it
    for (std::size_t step = 0; step < needs.size(); ++step) {
      pieces.push_back({64 * (1 + random.below(2000 + step, 50)), {step}});
      for (const std::size_t need : needs[step]) {
        pieces[need].steps.push_back(step);
      }
    }
    const MemoryPlan plan = plan_memory(pieces, order);
    std::size_t separate = 0;
    for (std::size_t a = 0; a < pieces.size(); ++a) {
      separate += pieces[a].bytes;
      for (std::size_t b = 0; b < pieces.size(); ++b) {
        const bool shared = a != b && plan.offsets[a] < plan.offsets[b] + pieces[b].bytes &&
                            plan.offsets[b] < plan.offsets[a] + pieces[a].bytes;
        const auto done = [&](std::size_t first, std::size_t second) {
          return std::all_of(pieces[first].steps.begin(),
                             pieces[first].steps.end(),
                             [&](std::size_t use) { return order.before(use, second); });
        };
        ASSERT_TRUE(!shared || done(a, b) || done(b, a)) << "seed " << seed;
      }
    }
    EXPECT_LT(plan.bytes, separate) << "seed " << seed;
  }
}

TEST(BranchSchedule, asks_for_lanes_only_where_there_are_branches) {
  rewrite::GraphSketch chain;
  EXPECT_EQ(useful_lanes(chain.build({chain.relu(chain.gemm(chain.input({4, 8}), 16))}), 8), 1U);
  rewrite::GraphSketch fork;
  const auto x = fork.input({64, 64});
  const model::Graph graph = fork.build({fork.gemm(x, 64), fork.gemm(x, 64), fork.gemm(x, 64)});
  EXPECT_EQ(useful_lanes(graph, 8), 3U);
  EXPECT_EQ(useful_lanes(graph, 2), 2U);
}

}  // namespace
}  // namespace plumb::engine
