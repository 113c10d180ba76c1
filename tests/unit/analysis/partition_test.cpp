// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "harness/analysis/bounds/model_partition.hpp"

namespace plumb::analysis {
namespace {

using testing::ElementsAre;

ModelPartition::Cover::Option option(std::vector<model::LayerId> layers, double seconds) {
  return {std::move(layers), Seconds(seconds)};
}

struct Price {
  std::size_t missing = 0;
  double seconds = 0.0;
  auto operator<=>(const Price&) const = default;
};

Price price_of(const ModelPartition::Cover& cover,
               const std::vector<ModelPartition::Cover::Option>& options) {
  Price price;
  for (const std::size_t index : cover.chosen) {
    price.missing += options[index].seconds ? 0U : 1U;
    price.seconds += options[index].seconds.value_or(Seconds{}).count();
  }
  return price;
}

/// Tries every exact cover.
Price cheapest_by_force(std::size_t layers,
                        const std::vector<ModelPartition::Cover::Option>& options,
                        std::vector<bool> taken = {}) {
  taken.resize(layers, false);
  const auto first = std::find(taken.begin(), taken.end(), false);
  if (first == taken.end()) {
    return {};
  }
  const auto layer = static_cast<model::LayerId>(first - taken.begin());
  Price best{std::numeric_limits<std::size_t>::max(), 0.0};
  for (const ModelPartition::Cover::Option& candidate : options) {
    const auto& wanted = candidate.layers;
    if (std::find(wanted.begin(), wanted.end(), layer) == wanted.end() ||
        std::any_of(wanted.begin(), wanted.end(), [&](model::LayerId id) { return taken[id]; }) ||
        (wanted.size() > 1 && !candidate.seconds)) {
      continue;
    }
    std::vector<bool> next = taken;
    for (const model::LayerId id : wanted) {
      next[id] = true;
    }
    Price price = cheapest_by_force(layers, options, next);
    price.missing += candidate.seconds ? 0U : 1U;
    price.seconds += candidate.seconds.value_or(Seconds{}).count();
    best = std::min(best, price);
  }
  return best;
}

TEST(Partition, beats_the_greedy_choice) {
  // Greedy takes the largest saving {1,2}: 5 + 1 + 5 = 11. The best is {0,1} and {2,3}: 3 + 3 = 6.
  const std::vector<ModelPartition::Cover::Option> options{option({0}, 5.0),
                                                           option({1}, 5.0),
                                                           option({2}, 5.0),
                                                           option({3}, 5.0),
                                                           option({1, 2}, 1.0),
                                                           option({0, 1}, 3.0),
                                                           option({2, 3}, 3.0)};
  const ModelPartition::Cover cover = cheapest_partition(4, options);
  EXPECT_THAT(cover.chosen, ElementsAre(5U, 6U));
  EXPECT_TRUE(cover.optimal);
}

TEST(Partition, fuses_an_addition_with_one_branch_only) {
  // Layers: conv 0, conv 1, add 2, relu 3; either conv may take add and relu.
  const std::vector<ModelPartition::Cover::Option> options{option({0}, 10.0),
                                                           option({1}, 4.0),
                                                           option({2}, 2.0),
                                                           option({3}, 1.0),
                                                           option({0, 2, 3}, 10.5),
                                                           option({1, 2, 3}, 5.0)};
  const ModelPartition::Cover cover = cheapest_partition(4, options);
  EXPECT_THAT(cover.chosen, ElementsAre(1U, 4U));  // 14.5; with the other branch 15, plain 17
  EXPECT_DOUBLE_EQ(price_of(cover, options).seconds, 14.5);
  std::vector<ModelPartition::Cover::Option> other = options;
  other[5].seconds = Seconds(4.0);
  EXPECT_THAT(cheapest_partition(4, other).chosen, ElementsAre(0U, 5U));
}

TEST(Partition, prefers_a_measured_fused_layer_to_an_unmeasured_plain_one) {
  const std::vector<ModelPartition::Cover::Option> options{
      {{0}, std::nullopt}, option({1}, 1.0), option({0, 1}, 100.0)};
  EXPECT_THAT(cheapest_partition(2, options).chosen, ElementsAre(2U));
}

TEST(Partition, never_uses_a_fused_layer_without_a_time) {
  const std::vector<ModelPartition::Cover::Option> options{
      option({0}, 1.0), option({1}, 1.0), {{0, 1}, std::nullopt}};
  EXPECT_THAT(cheapest_partition(2, options).chosen, ElementsAre(0U, 1U));
}

TEST(Partition, views_between_fused_layers_cost_nothing) {
  const auto chosen = [](double fused) {  // layer 1 is a view
    const std::vector<ModelPartition::Cover::Option> options{
        option({0}, 5.0), option({2}, 5.0), option({3}, 5.0), option({0, 1, 2}, fused)};
    return cheapest_partition(4, options).chosen;
  };
  EXPECT_THAT(chosen(6.0), ElementsAre(3U, 2U));
  EXPECT_THAT(chosen(11.0), ElementsAre(0U, 1U, 2U));
}

TEST(Partition, keeps_layers_plain_when_fusion_brings_nothing) {
  const std::vector<ModelPartition::Cover::Option> options{
      option({0}, 1.0), option({1}, 1.0), option({0, 1}, 2.0)};
  EXPECT_THAT(cheapest_partition(2, options).chosen, ElementsAre(0U, 1U));
}

TEST(Partition, leaves_out_layers_without_options) {
  const std::vector<ModelPartition::Cover::Option> options{option({0}, 1.0), option({2}, 1.0)};
  EXPECT_THAT(cheapest_partition(3, options).chosen, ElementsAre(0U, 1U));
  EXPECT_THAT(cheapest_partition(3, {}).chosen, ElementsAre());
}

TEST(Partition, equals_brute_force_on_random_options) {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    const std::size_t layers = 1 + random() % 8;
    std::vector<ModelPartition::Cover::Option> options;
    for (model::LayerId layer = 0; layer < layers; ++layer) {
      const bool measured = random() % 8 != 0;
      options.push_back(
          {{layer}, measured ? std::optional(Seconds(1 + random() % 16)) : std::nullopt});
    }
    for (std::size_t i = random() % 12; i > 0; --i) {
      std::vector<model::LayerId> some;
      for (model::LayerId layer = 0; layer < layers; ++layer) {
        if (random() % 3 == 0) {
          some.push_back(layer);
        }
      }
      if (some.size() > 1) {
        options.push_back(option(std::move(some), static_cast<double>(1 + random() % 20)));
      }
    }
    const ModelPartition::Cover cover = cheapest_partition(layers, options);
    ASSERT_TRUE(cover.optimal);
    ASSERT_EQ(price_of(cover, options), cheapest_by_force(layers, options)) << "round " << round;
    ASSERT_EQ(cover.chosen, cheapest_partition(layers, options).chosen);
    std::vector<int> covered(layers, 0);
    for (const std::size_t index : cover.chosen) {
      for (const model::LayerId layer : options[index].layers) {
        ++covered[layer];
      }
    }
    ASSERT_THAT(covered, testing::Each(1)) << "round " << round;
  }
}

TEST(Partition, stays_an_exact_cover_when_there_are_too_many_states) {
  // 20 pairs (i, 20 + i): 2^20 states in the middle.
  std::vector<ModelPartition::Cover::Option> options;
  for (model::LayerId layer = 0; layer < 41; ++layer) {
    options.push_back(option({layer}, 1.0));
  }
  for (model::LayerId layer = 0; layer < 20; ++layer) {
    options.push_back(option({layer, 20 + layer}, 1.5));
    options.push_back(option({layer, 40}, 1.9));
  }
  const ModelPartition::Cover cover = cheapest_partition(41, options);
  EXPECT_FALSE(cover.optimal);
  std::vector<int> covered(41, 0);
  for (const std::size_t index : cover.chosen) {
    for (const model::LayerId layer : options[index].layers) {
      ++covered[layer];
    }
  }
  EXPECT_THAT(covered, testing::Each(1));
}

TEST(LayerGroups, have_the_root_of_the_first_after_a_join) {
  ModelPartition::Cover::LayerGroups groups(5);
  groups.join(3, 1);
  groups.join(3, 4);
  groups.join(0, 4);
  EXPECT_EQ(groups.root(1), 0U);
  EXPECT_EQ(groups.root(3), 0U);
  EXPECT_EQ(groups.root(4), 0U);
  EXPECT_EQ(groups.root(2), 2U);
}

}  // namespace
}  // namespace plumb::analysis
