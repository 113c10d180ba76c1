// SPDX-License-Identifier: Apache-2.0
// What-ifs of steps of training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/whatif/what_if.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/rewrite/gradient/checkpointed_graph.hpp"
#include "harness/rewrite/gradient/folded_norms.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "harness/rewrite/types/typed_graph.hpp"
#include "tests/unit/analysis/row_builder.hpp"
#include "tests/unit/analysis/what_if_questions.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::analysis {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Step of training of two products with a ReLU between them.
model::Graph trained_products() {
  rewrite::GraphSketch g;
  const model::Graph model = g.build({g.gemm(g.relu(g.gemm(g.input({16, 8}), 8)), 8)});
  return rewrite::training_step(
             model, {}, rewrite::standard_optimizer(rewrite::TrainingStep::Optimizer::Kind::kSgd))
      .training.graph;
}

/// Gives every key of a graph a time: 10 µs for what the text is part of, and 1 µs for the others.
RowBuilder slow_rows(const model::Graph& graph, std::string_view slow) {
  RowBuilder b;
  std::set<std::string> seen;
  for (const model::Layer& layer : graph.layers) {
    if (layer.role == model::Layer::Role::kCompute && seen.insert(layer.key.text).second) {
      b.choice(layer.key, "a", layer.key.text.find(slow) != std::string::npos ? 10.0 : 1.0);
    }
  }
  return b;
}

TEST(StepWhatIf, weight_gradients_take_no_time_beside_longer_gradients_of_data) {
  const model::Graph graph = trained_products();
  // Two updates of products and two of biases: together 40 µs, all on the second lane. What is
  // before the first of them stays, and so does the slowest of all: their own lane.
  const WhatIfResult result = ask("weight_gradients", graph, slow_rows(graph, "v1:sgd"));
  EXPECT_THAT(result.why_not, IsEmpty());
  std::size_t layers = 0;
  for (const model::Layer& layer : graph.layers) {
    layers += layer.role == model::Layer::Role::kCompute ? 1 : 0;
  }
  EXPECT_NEAR(microseconds(*result.baseline), static_cast<double>(layers - 4) + 40.0, 1e-9);
  EXPECT_LT(microseconds(*result.predicted), microseconds(*result.baseline));
  EXPECT_GE(microseconds(*result.predicted), 40.0);
  EXPECT_EQ(result.execution_mode, "parallel_branches");

  rewrite::GraphSketch g;
  const model::Graph inference = g.build({g.relu(g.input({4}))});
  EXPECT_FALSE(ask("weight_gradients", inference, slow_rows(inference, "-")).applies);
}

TEST(StepWhatIf, checkpointing_costs_what_is_computed_twice) {
  rewrite::GraphSketch g;
  model::ValueId value = g.input({16, 8});
  for (int i = 0; i < 8; ++i) {
    value = g.relu(g.gemm(value, 8));
  }
  const model::Graph graph =
      rewrite::training_step(
          g.build({value}),
          {},
          rewrite::standard_optimizer(rewrite::TrainingStep::Optimizer::Kind::kSgd))
          .training.graph;
  const auto small = rewrite::smallest_step(graph);
  ASSERT_TRUE(small);
  const WhatIfResult result = ask("checkpointing", graph, slow_rows(graph, "nothing"));
  EXPECT_THAT(result.why_not, IsEmpty());
  EXPECT_GT(small->changes, 0U);
  EXPECT_NEAR(microseconds(*result.predicted) - microseconds(*result.baseline),
              static_cast<double>(small->changes),
              1e-9);
  EXPECT_THAT(result.layers, SizeIs(small->changes));
  EXPECT_THAT(result.mode, HasSubstr("MiB at once"));

  const auto under = [&](std::int64_t cap) {
    ModelInstance capped = kHandmade;
    capped.training = "sgd+memory_cap=" + std::to_string(cap);
    return ask("checkpointing", graph, slow_rows(graph, "nothing"), capped);
  };
  const std::int64_t least = model::compute_memory(small->graph).total().value;
  const WhatIfResult roomy = under(model::compute_memory(graph).total().value);
  EXPECT_DOUBLE_EQ(microseconds(*roomy.predicted), microseconds(*roomy.baseline));
  EXPECT_GT(microseconds(*under(least).predicted), microseconds(*result.baseline));
  EXPECT_LE(microseconds(*under(least).predicted), microseconds(*result.predicted) + 1e-9);
  EXPECT_THAT(under(least - 1).why_not, HasSubstr("at least, and its cap is"));

  const model::Graph inference = product_and_relu();
  const WhatIfResult none = ask("checkpointing", inference, slow_rows(inference, "-"));
  EXPECT_FALSE(none.applies);
  EXPECT_THAT(none.why_not, HasSubstr("--training"));
}

TEST(StepWhatIf, folded_norms_save_the_batch_normalisations_and_cost_products_of_weights) {
  rewrite::GraphSketch g;
  const auto convolved = g.conv(g.input({2, 3, 4, 4}), 5, 3);
  const model::Graph model = g.build({g.conv(g.relu(g.batch_norm(convolved)), 6, 1)});
  const auto step_by = [&](const char* training) {
    return rewrite::training_step(model, rewrite::parse_step_choice(training).value())
        .training.graph;
  };
  const model::Graph graph = step_by("sgd+freeze=batch_norm");
  const auto folded = rewrite::folded_norms(graph);
  ASSERT_TRUE(folded);
  RowBuilder rows = slow_rows(graph, "v1:batch_norm;");
  const WhatIfResult unknown = ask("folded_norms", graph, rows);
  EXPECT_TRUE(unknown.applies);
  EXPECT_THAT(unknown.why_not, HasSubstr("--mode folded_norms"));

  std::set<std::string> known;
  for (const model::Layer& layer : graph.layers) {
    known.insert(layer.key.text);
  }
  for (const model::Layer& layer : folded->graph.layers) {
    if (layer.role == model::Layer::Role::kCompute && known.insert(layer.key.text).second) {
      rows.choice(layer.key, "a", 1.0);
    }
  }
  const WhatIfResult result = ask("folded_norms", graph, rows);
  EXPECT_THAT(result.why_not, IsEmpty());
  // Two layers of 10 µs are gone, and two of 1 µs come: f · W and f · dW.
  EXPECT_NEAR(microseconds(*result.baseline) - microseconds(*result.predicted), 18.0, 1e-9);
  double saved = 0.0;
  for (const WhatIfResult::LayerSaving& layer : result.layers) {
    saved += microseconds(layer.before) - microseconds(layer.after);
  }
  EXPECT_NEAR(saved, 18.0, 1e-9);

  const model::Graph trained = step_by("sgd");
  const WhatIfResult none = ask("folded_norms", trained, slow_rows(trained, "-"));
  EXPECT_FALSE(none.applies);
  EXPECT_THAT(none.why_not, HasSubstr("--freeze batch_norm"));
}

TEST(StepWhatIf, bf16_with_channels_last_of_a_step_counts_the_casts_of_its_weights) {
  const model::Graph graph = trained_products();
  const model::Graph lower = rewrite::typed_graph(graph, "bf16");
  RowBuilder rows = slow_rows(graph, "nothing");
  std::set<std::string> known;
  for (const model::Layer& layer : graph.layers) {
    known.insert(layer.key.text);
  }
  const std::set<std::string> of_f32 = known;
  double expected = 0.0;
  std::size_t casts = 0;
  for (const model::Layer& layer : lower.layers) {
    if (layer.role != model::Layer::Role::kCompute) {
      continue;
    }
    expected += of_f32.contains(layer.key.text) ? 1.0 : 0.5;
    casts += layer.spec.op == "cast" ? 1U : 0U;
    if (known.insert(layer.key.text).second) {
      rows.choice(layer.key, "layout=NHWC", 0.5);
    }
  }
  ASSERT_GT(casts, 0U);
  const WhatIfResult result = ask("bf16+channels_last", graph, rows);
  EXPECT_THAT(result.why_not, IsEmpty());
  EXPECT_NEAR(microseconds(*result.predicted), expected, 1e-9);
  EXPECT_THAT(result.layers, IsEmpty()) << "layers of the two steps do not pair up";
}

TEST(StepWhatIf, largest_batch_is_the_largest_of_the_run_that_fits) {
  const auto step_of = [](std::int64_t batch) {
    rewrite::GraphSketch g;
    return rewrite::training_step(
               g.build({g.gemm(g.relu(g.gemm(g.input({batch, 8}), 8)), 8)}),
               {},
               rewrite::standard_optimizer(rewrite::TrainingStep::Optimizer::Kind::kSgd))
        .training.graph;
  };
  const auto instance_of = [](std::int64_t batch, Bytes cap) {
    return ModelInstance{
        "handmade", batch, "f32", {}, "sgd+memory_cap=" + std::to_string(cap.value)};
  };
  const std::vector<std::int64_t> sizes{2, 8, 32};
  RowBuilder rows;
  std::map<std::string, double> known;  // µs, by key: those that no batch changes are the first's
  std::vector<model::Graph> graphs;
  std::vector<double> times;  // of a step
  for (const std::int64_t batch : sizes) {
    graphs.push_back(step_of(batch));
    times.push_back(0.0);
    for (const model::Layer& layer : graphs.back().layers) {
      if (layer.role == model::Layer::Role::kCompute) {
        const auto [time, added] = known.try_emplace(layer.key.text, static_cast<double>(batch));
        times.back() += time->second;
        if (added) {
          rows.choice(layer.key, "a", time->second);
        }
      }
    }
  }
  const ResultSet results(rows.rows());
  const auto ask_under = [&](Bytes cap, std::int64_t batch) {
    std::vector<WhatIfInput::TrainedBatch> batches;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto priced = price_trained_batch(instance_of(sizes[i], cap), graphs[i], results);
      EXPECT_TRUE(priced);
      batches.push_back(priced.value());
    }
    const ModelInstance instance = instance_of(batch, cap);
    const auto at = std::find(sizes.begin(), sizes.end(), batch) - sizes.begin();
    WhatIfInput input{instance, graphs[static_cast<std::size_t>(at)], results};
    input.batches = batches;
    return largest_batch_what_if(input);
  };
  const Bytes middle = model::compute_memory(graphs[1]).total();
  const WhatIfResult result = ask_under(middle, 2);
  EXPECT_THAT(result.why_not, IsEmpty());
  EXPECT_NEAR(microseconds(*result.baseline), times[0], 1e-9);
  EXPECT_NEAR(microseconds(*result.predicted), times[1] / 4.0, 1e-9) << "for two samples of eight";
  EXPECT_NEAR(*result.samples_per_second, 8.0 / (times[1] * 1e-6), 1e-3);
  EXPECT_THAT(result.mode, HasSubstr("batch 8 in place of 2: "));
  EXPECT_THAT(ask_under(middle, 8).why_not, HasSubstr("no larger batch of this run fits"));
  EXPECT_THAT(ask_under(Bytes{1}, 8).why_not, HasSubstr("no batch of this run fits"));
  EXPECT_THAT(ask_under(middle, 32).mode, HasSubstr("batch 8 in place of 32: "));

  ModelInstance trained = kHandmade;
  trained.training = "sgd";
  const WhatIfResult uncapped = ask("largest_batch", graphs[0], rows, trained);
  EXPECT_FALSE(uncapped.applies);
  EXPECT_THAT(uncapped.why_not, HasSubstr("+memory_cap="));
  EXPECT_FALSE(price_trained_batch(trained, graphs[0], results));
}

}  // namespace
}  // namespace plumb::analysis
