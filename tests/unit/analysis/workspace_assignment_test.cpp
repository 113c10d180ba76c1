// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "harness/analysis/micro_batch/layer_division.hpp"

namespace plumb::analysis {
namespace {

using testing::ElementsAre;
using Layers = std::vector<std::vector<LayerDivision::Assignment::Choice>>;

/// Returns the least time of the layers from one on, by trying every choice.
double least_time(const Layers& layers, std::int64_t total, std::size_t from = 0) {
  if (total < 0) {
    return std::numeric_limits<double>::infinity();
  }
  if (from == layers.size()) {
    return 0.0;
  }
  double least = std::numeric_limits<double>::infinity();
  for (const LayerDivision::Assignment::Choice& choice : layers[from]) {
    least = std::min(
        least, choice.time.count() + least_time(layers, total - choice.workspace.value, from + 1));
  }
  return least;
}

TEST(WorkspaceAssignment, divides_one_total_among_layers) {
  const Layers layers{{{Seconds(10), {0}}, {Seconds(4), {5}}},
                      {{Seconds(10), {0}}, {Seconds(5), {6}}}};
  EXPECT_THAT(assign_workspaces(layers, {0})->choices, ElementsAre(0, 0));
  EXPECT_THAT(assign_workspaces(layers, {5})->choices, ElementsAre(1, 0));
  EXPECT_THAT(assign_workspaces(layers, {6})->choices, ElementsAre(1, 0));
  const LayerDivision::Assignment all = assign_workspaces(layers, {11}).value();
  EXPECT_THAT(all.choices, ElementsAre(1, 1));
  EXPECT_EQ(all.workspace.value, 11);
  EXPECT_DOUBLE_EQ(all.time.count(), 9.0);
}

TEST(WorkspaceAssignment, is_absent_where_nothing_fits) {
  EXPECT_FALSE(assign_workspaces(Layers{{{Seconds(1), {5}}}}, {4}).has_value());
  EXPECT_FALSE(assign_workspaces(Layers{{{Seconds(1), {5}}}, {}}, {9}).has_value());
  EXPECT_TRUE(assign_workspaces(Layers{}, {0})->choices.empty());
}

TEST(WorkspaceAssignment, equals_brute_force) {
  std::mt19937 random(7);
  const auto draw = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  for (int trial = 0; trial < 1000; ++trial) {
    SCOPED_TRACE(trial);
    Layers layers(static_cast<std::size_t>(draw(1, 6)));
    for (std::vector<LayerDivision::Assignment::Choice>& choices : layers) {
      for (int i = draw(1, 5); i > 0; --i) {
        choices.push_back({Seconds(draw(1, 40)), {draw(0, 20)}});
      }
    }
    const std::int64_t total = draw(0, 60);
    const double least = least_time(layers, total);
    const std::optional<LayerDivision::Assignment> found = assign_workspaces(layers, {total});
    ASSERT_EQ(found.has_value(), std::isfinite(least));
    if (found) {
      double time = 0.0;
      std::int64_t workspace = 0;
      for (std::size_t i = 0; i < layers.size(); ++i) {
        time += layers[i].at(found->choices.at(i)).time.count();
        workspace += layers[i].at(found->choices[i]).workspace.value;
      }
      EXPECT_DOUBLE_EQ(time, least);
      EXPECT_DOUBLE_EQ(found->time.count(), time);
      EXPECT_EQ(found->workspace.value, workspace);
      EXPECT_LE(workspace, total);
    }
  }
}

/// Lists every division of a batch by the sum of its times and its largest workspace.
std::vector<LayerDivision::Assignment::Choice> every_division(
    const std::vector<LayerDivision::Batch::Part>& kernels,
    std::int64_t batch,
    std::size_t from = 0) {
  if (batch == 0) {
    return {LayerDivision::Assignment::Choice{}};
  }
  std::vector<LayerDivision::Assignment::Choice> divisions;
  for (std::size_t i = from; i < kernels.size(); ++i) {
    if (kernels[i].batch > batch) {
      continue;
    }
    for (const LayerDivision::Assignment::Choice& rest :
         every_division(kernels, batch - kernels[i].batch, i)) {
      divisions.push_back(
          {kernels[i].time + rest.time, std::max(kernels[i].workspace, rest.workspace)});
    }
  }
  return divisions;
}

TEST(WorkspaceAssignment, chooses_among_the_fronts_of_divided_batches) {
  std::mt19937 random(11);
  const auto draw = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  std::size_t divided = 0;
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(trial);
    Layers fronts;
    Layers all;
    std::vector<std::vector<LayerDivision::Batch>> divisions;
    for (const std::int64_t batch : {2, 4, 4}) {
      std::vector<LayerDivision::Batch::Part> kernels;
      for (const std::int64_t size :
           batch_sizes(results::VariantId::DivisionRule::Policy::kPowersOfTwo, batch)) {
        for (int variant = 0; variant < 2; ++variant) {
          kernels.push_back({size, Seconds(draw(1, 30)), {draw(0, 12)}, ""});
        }
      }
      all.push_back(every_division(kernels, batch));
      divisions.push_back(desirable_divisions(kernels, batch));
      std::vector<LayerDivision::Assignment::Choice>& front = fronts.emplace_back();
      for (const LayerDivision::Batch& division : divisions.back()) {
        front.push_back({division.time, division.workspace});
      }
      EXPECT_LE(front.size(), all.back().size());
    }
    const std::int64_t total = draw(0, 30);
    const double least = least_time(all, total);
    const std::optional<LayerDivision::Assignment> found = assign_workspaces(fronts, {total});
    ASSERT_EQ(found.has_value(), std::isfinite(least));
    if (found) {
      EXPECT_DOUBLE_EQ(found->time.count(), least);
      EXPECT_LE(found->workspace.value, total);
      for (std::size_t layer = 0; layer < divisions.size(); ++layer) {
        divided += divisions[layer].at(found->choices.at(layer)).parts.size() > 1 ? 1U : 0U;
      }
    }
  }
  EXPECT_GT(divided, 0U);
}

TEST(WorkspaceAssignment, keeps_few_partial_solutions_of_many_layers) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> number(0.0, 1.0);
  for (int trial = 0; trial < 20; ++trial) {
    Layers layers(60);
    for (std::vector<LayerDivision::Assignment::Choice>& choices : layers) {
      for (int i = 0; i < 5; ++i) {
        const double size = number(random);
        choices.push_back({Seconds(1e-3 / (0.1 + size * number(random))),
                           {static_cast<std::int64_t>(1e8 * size)}});
      }
    }
    // Without bounds there are up to 5^60 of them: this test ends only because few are kept.
    const std::optional<LayerDivision::Assignment> found =
        assign_workspaces(layers, {1'500'000'000});
    ASSERT_TRUE(found.has_value());
    EXPECT_LE(found->workspace.value, 1'500'000'000);
  }
}

}  // namespace
}  // namespace plumb::analysis
