// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <set>

#include "harness/analysis/bounds/model_partition.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::analysis {
namespace {

using testing::ElementsAre;

/// Computes the longest path through the chosen options, by recursion over what each waits for.
double longest_path(const model::Graph& graph,
                    const std::vector<ModelPartition::Cover::Option>& options,
                    const std::vector<std::size_t>& chosen) {
  std::vector<std::size_t> owner(graph.layers.size());
  for (const std::size_t index : chosen) {
    for (const model::LayerId layer : options[index].layers) {
      owner[layer] = index;
    }
  }
  const auto before = model::predecessors(graph);
  std::function<double(std::size_t)> finish = [&](std::size_t index) {
    double begin = 0.0;
    for (const model::LayerId layer : options[index].layers) {
      for (const model::LayerId earlier : before[layer]) {
        if (owner[earlier] != index) {
          begin = std::max(begin, finish(owner[earlier]));
        }
      }
    }
    return begin + options[index].seconds.value_or(Seconds{}).count();
  };
  double longest = 0.0;
  for (const std::size_t index : chosen) {
    longest = std::max(longest, finish(index));
  }
  return longest;
}

/// Calls `visit` with every exact cover.
void for_each_cover(std::size_t layers,
                    const std::vector<ModelPartition::Cover::Option>& options,
                    std::vector<std::size_t>& chosen,
                    std::vector<bool>& taken,
                    const std::function<void()>& visit) {
  const auto first = std::find(taken.begin(), taken.end(), false);
  if (first == taken.end()) {
    visit();
    return;
  }
  const auto layer = static_cast<model::LayerId>(first - taken.begin());
  for (std::size_t i = 0; i < options.size(); ++i) {
    const auto& wanted = options[i].layers;
    if (std::find(wanted.begin(), wanted.end(), layer) == wanted.end() ||
        std::any_of(wanted.begin(), wanted.end(), [&](model::LayerId id) { return taken[id]; })) {
      continue;
    }
    for (const model::LayerId id : wanted) {
      taken[id] = true;
    }
    chosen.push_back(i);
    for_each_cover(layers, options, chosen, taken, visit);
    chosen.pop_back();
    for (const model::LayerId id : wanted) {
      taken[id] = false;
    }
  }
}

TEST(CriticalPath, results_of_a_joint_option_are_there_when_it_ends) {
  rewrite::GraphSketch b;
  const model::ValueId x = b.input({4});
  const model::ValueId one = b.eltwise(x, "exp");    // 0
  const model::ValueId other = b.eltwise(x, "abs");  // 1
  const model::Graph graph = b.build({one, other});
  // As where the budget ended after the joint one, whose layers were not measured alone.
  const std::vector<ModelPartition::Cover::Option> options{
      {{0}, {}}, {{1}, {}}, {{0, 1}, Seconds(4.0)}};
  const ModelPartition::Cover cover = cheapest_partition(graph.layers.size(), options);
  ASSERT_THAT(cover.chosen, ElementsAre(2));
  const ModelPartition::Cover::CriticalPath path = shortest_critical_path(graph, options, cover);
  EXPECT_EQ(path.length, Seconds(4.0));
  EXPECT_THAT(path.options, ElementsAre(2));
}

TEST(CriticalPath, waits_for_each_result_of_a_joint_option) {
  rewrite::GraphSketch b;
  const model::ValueId head = b.eltwise(b.input({4}), "exp");  // 0: 5 s
  const model::ValueId left = b.eltwise(head, "neg");          // 1: 1 s, with the one before 4 s
  const model::ValueId right = b.eltwise(head, "abs");         // 2: 1 s
  const model::Graph graph = b.build({left, right});
  const std::vector<ModelPartition::Cover::Option> options{
      {{0}, Seconds(5.0)}, {{1}, Seconds(1.0)}, {{2}, Seconds(1.0)}, {{0, 1}, Seconds(4.0)}};
  const ModelPartition::Cover cover = cheapest_partition(graph.layers.size(), options);
  ASSERT_THAT(cover.chosen, ElementsAre(3U, 2U));
  const ModelPartition::Cover::CriticalPath path = shortest_critical_path(graph, options, cover);
  EXPECT_EQ(path.length, Seconds(5.0));
  EXPECT_THAT(path.options, ElementsAre(3U, 2U));
}

TEST(CriticalPath, passes_views_that_stand_before_the_end_of_a_joint_option) {
  rewrite::GraphSketch b;
  const model::ValueId x = b.input({4});
  const model::ValueId seen = b.view(b.eltwise(x, "exp"), {2, 2});      // 0, and its view 1
  const model::ValueId other = b.eltwise(x, "abs");                     // 2
  const model::Graph graph = b.build({b.eltwise(seen, "neg"), other});  // 3: 1 s
  const std::vector<ModelPartition::Cover::Option> options{
      {{0}, {}}, {{2}, {}}, {{3}, Seconds(1.0)}, {{0, 2}, Seconds(4.0)}};
  const ModelPartition::Cover cover = cheapest_partition(graph.layers.size(), options);
  ASSERT_THAT(cover.chosen, ElementsAre(3U, 2U));
  const ModelPartition::Cover::CriticalPath path = shortest_critical_path(graph, options, cover);
  EXPECT_EQ(path.length, Seconds(5.0));
  EXPECT_THAT(path.options, ElementsAre(3U, 2U));
}

TEST(CriticalPath, follows_the_longer_branch) {
  rewrite::GraphSketch b;
  const model::ValueId x = b.input({4});
  const model::ValueId head = b.relu(x);                                  // 0: 1 s
  const model::ValueId left = b.eltwise(head, "exp");                     // 1: 5 s
  const model::ValueId right = b.eltwise(b.eltwise(head, "abs"), "neg");  // 2, 3: 3 s each
  const model::Graph graph = b.build({b.add(left, right)});               // 4: 2 s
  const std::vector<ModelPartition::Cover::Option> options{{{0}, Seconds(1.0)},
                                                           {{1}, Seconds(5.0)},
                                                           {{2}, Seconds(3.0)},
                                                           {{3}, Seconds(3.0)},
                                                           {{4}, Seconds(2.0)}};
  const ModelPartition::Cover cover = cheapest_partition(5, options);
  const ModelPartition::Cover::CriticalPath path = shortest_critical_path(graph, options, cover);
  EXPECT_DOUBLE_EQ(path.length.count(), 9.0);
  EXPECT_THAT(path.options, ElementsAre(0U, 2U, 3U, 4U));
}

TEST(CriticalPath, may_need_another_cover_than_the_cheapest_sum) {
  rewrite::GraphSketch b;
  const model::ValueId x = b.input({4});
  const model::ValueId slow = b.eltwise(x, "exp");          // 0: 10 s
  const model::ValueId fast = b.eltwise(x, "abs");          // 1: 6 s
  const model::Graph graph = b.build({b.add(slow, fast)});  // 2: 4 s
  const std::vector<ModelPartition::Cover::Option> options{
      {{0}, Seconds(10.0)}, {{1}, Seconds(6.0)}, {{2}, Seconds(4.0)}, {{1, 2}, Seconds(9.0)}};
  const ModelPartition::Cover cover = cheapest_partition(3, options);
  EXPECT_THAT(cover.chosen, ElementsAre(0U, 3U));  // 19 s in turn, and along its path: fast waits
  const ModelPartition::Cover::CriticalPath path = shortest_critical_path(graph, options, cover);
  EXPECT_DOUBLE_EQ(path.length.count(), 14.0);  // not fused: 6 s run beside 10 s
  EXPECT_THAT(path.options, ElementsAre(0U, 2U));
}

TEST(CriticalPath, passes_only_unavoidable_layers_without_a_time) {
  rewrite::GraphSketch b;
  const model::ValueId x = b.input({4});
  const model::Graph graph = b.build({b.relu(b.eltwise(b.eltwise(x, "exp"), "abs"))});
  const std::vector<ModelPartition::Cover::Option> options{
      {{0}, std::nullopt}, {{1}, Seconds(1.0)}, {{2}, std::nullopt}, {{0, 1}, Seconds(100.0)}};
  const ModelPartition::Cover::CriticalPath path =
      shortest_critical_path(graph, options, cheapest_partition(3, options));
  EXPECT_DOUBLE_EQ(path.length.count(), 100.0);
  EXPECT_THAT(path.options, ElementsAre(3U, 2U));
}

TEST(CriticalPath, passes_views_without_time) {
  rewrite::GraphSketch b;
  const model::ValueId x = b.input({4});
  const model::Graph graph = b.build({b.relu(b.view(b.relu(x), {2, 2}))});
  const std::vector<ModelPartition::Cover::Option> options{{{0}, Seconds(1.0)},
                                                           {{2}, Seconds(2.0)}};
  const ModelPartition::Cover::CriticalPath path =
      shortest_critical_path(graph, options, cheapest_partition(3, options));
  EXPECT_DOUBLE_EQ(path.length.count(), 3.0);
  EXPECT_THAT(path.options, ElementsAre(0U, 1U));
}

TEST(CriticalPath, of_nothing_is_nothing) {
  const ModelPartition::Cover::CriticalPath path =
      shortest_critical_path(model::Graph{}, {}, ModelPartition::Cover{});
  EXPECT_EQ(path.length.count(), 0.0);
  EXPECT_TRUE(path.options.empty());
}

TEST(CriticalPath, is_the_least_over_all_covers_of_random_graphs) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    rewrite::GraphSketch b;
    std::vector<model::ValueId> values{b.input({4})};
    const std::size_t layers = 2 + random() % 7;
    for (std::size_t i = 0; i < layers; ++i) {
      // A step back of up to three values, twice, makes branches that join.
      const auto pick = [&] {
        return values[values.size() - 1 - random() % std::min<std::size_t>(3, values.size())];
      };
      const model::ValueId left = pick();
      const model::ValueId right = pick();
      values.push_back(left == right ? b.relu(left) : b.add(left, right));
    }
    const model::Graph graph = b.build({values.back()});
    std::vector<ModelPartition::Cover::Option> options;
    for (model::LayerId layer = 0; layer < layers; ++layer) {
      options.push_back({{layer}, Seconds(static_cast<double>(1 + random() % 9))});
    }
    // Closed chains: each layer but the last has one reader, the next.
    std::vector<std::vector<model::LayerId>> readers(layers);
    const auto before = model::predecessors(graph);
    for (model::LayerId layer = 0; layer < layers; ++layer) {
      for (const model::LayerId earlier : before[layer]) {
        readers[earlier].push_back(layer);
      }
    }
    for (model::LayerId layer = 0; layer < layers; ++layer) {
      std::vector<model::LayerId> chain{layer};
      while (readers[chain.back()].size() == 1 && chain.size() < 4) {
        chain.push_back(readers[chain.back()].front());
        if (random() % 3 != 0) {
          options.push_back({chain, Seconds(static_cast<double>(1 + random() % 14))});
        }
      }
    }
    const ModelPartition::Cover cover = cheapest_partition(layers, options);
    const ModelPartition::Cover::CriticalPath path = shortest_critical_path(graph, options, cover);

    double least = std::numeric_limits<double>::infinity();
    std::vector<std::size_t> chosen;
    std::vector<bool> taken(layers, false);
    for_each_cover(layers, options, chosen, taken, [&] {
      least = std::min(least, longest_path(graph, options, chosen));
    });
    ASSERT_DOUBLE_EQ(path.length.count(), least) << "round " << round;
    ASSERT_LE(path.length.count(), longest_path(graph, options, cover.chosen) + 1e-12);

    // The path is one in the graph, and its times add up.
    double sum = 0.0;
    std::set<model::LayerId> seen;
    for (std::size_t i = 0; i < path.options.size(); ++i) {
      const ModelPartition::Cover::Option& option = options[path.options[i]];
      sum += option.seconds->count();
      for (const model::LayerId layer : option.layers) {
        ASSERT_TRUE(seen.insert(layer).second);
      }
      if (i > 0) {
        const model::LayerId from = options[path.options[i - 1]].layers.back();
        const bool linked =
            std::any_of(option.layers.begin(), option.layers.end(), [&](model::LayerId to) {
              return std::find(before[to].begin(), before[to].end(), from) != before[to].end();
            });
        ASSERT_TRUE(linked) << "round " << round;
      }
    }
    ASSERT_DOUBLE_EQ(sum, path.length.count());
  }
}

}  // namespace
}  // namespace plumb::analysis
