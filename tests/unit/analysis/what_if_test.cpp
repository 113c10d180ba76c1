// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/whatif/what_if.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/results/execution.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "tests/unit/analysis/row_builder.hpp"
#include "tests/unit/analysis/what_if_questions.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST(WhatIf, table_asks_each_question_once) {
  std::vector<std::string_view> names;
  for (const WhatIf& row : what_ifs()) {
    names.push_back(row.name);
  }
  EXPECT_THAT(names,
              ElementsAre("best_variant",
                          "fusion",
                          "channels_last",
                          "bf16",
                          "f16",
                          "channels_last+f16",
                          "bf16+channels_last",
                          "tf32",
                          "int8",
                          "micro_batch",
                          "padded_channels",
                          "graph_capture",
                          "parallel_branches",
                          "co_schedule",
                          "weight_gradients",
                          "checkpointing",
                          "folded_norms",
                          "fused_optimizer",
                          "gemm_bias",
                          "gemm_gelu",
                          "gemm_relu",
                          "conv_relu_backward",
                          "largest_batch",
                          "framework",
                          "all_sequential",
                          "all"));
  std::vector<std::string_view> without_mode;
  for (const WhatIf& row : what_ifs()) {
    if (row.execution_mode.empty()) {
      without_mode.push_back(row.name);
      continue;
    }
    EXPECT_NE(results::execution_mode_from(row.execution_mode), results::ExecutionMode{})
        << row.name;
  }
  EXPECT_THAT(without_mode, ElementsAre("padded_channels", "largest_batch", "framework"));
}

TEST(WhatIf, co_schedule_says_that_one_thread_has_nothing_to_share) {
  rewrite::GraphSketch g;
  const model::Graph graph = g.build({g.relu(g.input({4}))});
  RowBuilder b;
  b.add(graph.layers[0].key, "a", 10.0);
  const WhatIfResult result = ask("co_schedule", graph, b);
  EXPECT_FALSE(result.applies);
  EXPECT_THAT(result.why_not, HasSubstr("--threads 2"));
}

TEST(WhatIf, co_schedule_of_a_device_does_not_ask_for_threads) {
  rewrite::GraphSketch g;
  const model::Graph graph = g.build({g.relu(g.input({4}))});
  RowBuilder b;
  b.add(graph.layers[0].key, "a", 10.0);
  const ResultSet results(b.rows());
  for (const std::size_t threads : {std::size_t{1}, std::size_t{2}}) {
    const CoSchedule::Scaling scaling(threads);
    WhatIfInput input{kHandmade, graph, results, &scaling};
    input.on_device = true;
    const WhatIfResult result = co_schedule_what_if(input);
    EXPECT_FALSE(result.applies);
    EXPECT_THAT(result.why_not, HasSubstr("grids of their kernels"));
    EXPECT_THAT(result.why_not, HasSubstr("green contexts, which would divide it, are not built"));
  }
}

TEST(WhatIf, one_thread_runs_no_branches_and_a_processor_captures_no_launches) {
  rewrite::GraphSketch g;
  const auto x = g.input({4, 8});
  const model::Graph graph = g.build({g.gemm(x, 16), g.gemm(x, 24)});
  RowBuilder b;
  for (const model::Layer& layer : graph.layers) {
    b.add(layer.key, "a", 10.0);
  }
  const ResultSet results(b.rows());
  const CoSchedule::Scaling one(1);
  const CoSchedule::Scaling two(2);
  const auto applies =
      [&](std::string_view name, const CoSchedule::Scaling& scaling, bool on_device) {
        WhatIfInput input{kHandmade, graph, results, &scaling};
        input.on_device = on_device;
        for (const WhatIfResult& result : compute_what_ifs(input).whatifs) {
          if (result.name == name) {
            EXPECT_TRUE(result.applies || !result.why_not.empty()) << name;
            return result.applies;
          }
        }
        throw std::runtime_error("no such what-if");
      };
  for (const char* const name : {"parallel_branches", "all"}) {
    EXPECT_FALSE(applies(name, one, false)) << name;
    EXPECT_TRUE(applies(name, two, false)) << name;
    EXPECT_TRUE(applies(name, one, true)) << name << ": a device has streams";
  }
  EXPECT_FALSE(applies("graph_capture", two, false));
  EXPECT_TRUE(applies("graph_capture", one, true));
}

TEST(WhatIf, co_schedule_saves_what_threads_waste_on_branches) {
  rewrite::GraphSketch g;
  const auto x = g.input({4, 8});
  const model::Graph graph = g.build({g.gemm(x, 16), g.gemm(x, 24)});
  RowBuilder two;
  RowBuilder one;
  for (const model::Layer& layer : graph.layers) {
    two.add(layer.key, "a", 6.0);
    one.add(layer.key, "a", 10.0);
  }
  CoSchedule::Scaling scaling(2);
  scaling.add(1, one.rows());
  const ResultSet results(two.rows());
  for (const WhatIfResult& result :
       compute_what_ifs({kHandmade, graph, results, &scaling}).whatifs) {
    if (result.name == "co_schedule") {
      EXPECT_TRUE(result.applies);
      EXPECT_DOUBLE_EQ(microseconds(*result.baseline), 12.0);
      EXPECT_DOUBLE_EQ(microseconds(*result.predicted), 10.0);
      EXPECT_EQ(result.baseline_mode, "fusion");
    }
  }
}

TEST(WhatIf, parallel_branches_save_what_is_not_on_the_longest_path) {
  rewrite::GraphSketch g;
  const auto x = g.input({4, 8});
  const auto first = g.gemm(x, 16);
  const auto second = g.relu(x);
  const model::Graph graph = g.build({first, second});
  RowBuilder b;
  b.add(graph.layers[0].key, "brgemm", 20.0);
  b.add(graph.layers[1].key, "jit", 5.0);
  const WhatIfResult result = ask("parallel_branches", graph, b);
  EXPECT_THAT(result.why_not, IsEmpty());
  EXPECT_NEAR(microseconds(*result.baseline), 25.0, 1e-9);
  EXPECT_NEAR(microseconds(*result.predicted), 20.0, 1e-9);
  EXPECT_EQ(result.execution_mode, "parallel_branches");
}

TEST(WhatIf, all_has_parallel_branches_too) {
  rewrite::GraphSketch g;
  const auto x = g.input({4, 8});
  const auto first = g.gemm(x, 16);
  const auto second = g.relu(x);
  const model::Graph graph = g.build({first, second});
  const model::Graph lower = rewrite::with_precision(graph, model::DataType::kBf16);
  RowBuilder b;
  b.add(graph.layers[0].key, "brgemm", 20.0);
  b.add(graph.layers[1].key, "jit", 5.0);
  b.add(lower.layers[0].key, "amx", 12.0);
  b.add(lower.layers[1].key, "jit", 3.0);
  const WhatIfResult sequential = ask("all_sequential", graph, b);
  EXPECT_NEAR(microseconds(*sequential.predicted), 15.0, 1e-9);
  EXPECT_EQ(sequential.execution_mode, "best_variant+bf16+fusion");
  const WhatIfResult all = ask("all", graph, b);
  EXPECT_NEAR(microseconds(*all.baseline), 25.0, 1e-9);
  EXPECT_NEAR(microseconds(*all.predicted), 12.0, 1e-9);
  EXPECT_EQ(all.execution_mode, "best_variant+bf16+fusion+parallel_branches");
}

TEST(WhatIf, largest_predicted_saving_comes_first) {
  const auto answer = [](const char* name, double before, double after, const char* why_not) {
    WhatIfResult result;
    result.name = name;
    result.why_not = why_not;
    conclude(result, {Seconds(before), {}}, {Seconds(after), {}});
    return result;
  };
  ModelWhatIfs whatifs{{},
                       {answer("loss", 9, 10, ""),
                        answer("unknown", 9, 1, "no rows"),
                        answer("small", 9, 8, ""),
                        answer("large", 4, 2, "")}};
  rank(whatifs);
  EXPECT_EQ(whatifs.whatifs[0].name, "large");
  EXPECT_EQ(whatifs.whatifs[1].name, "small");
  EXPECT_EQ(whatifs.whatifs[2].name, "loss");
  EXPECT_EQ(whatifs.whatifs[3].name, "unknown");
}

TEST(WhatIf, parallel_branches_need_a_time_for_every_layer) {
  const model::Graph graph = product_and_relu();
  RowBuilder b;
  b.add(graph.layers[0].key, "brgemm", 20.0);
  const WhatIfResult result = ask("parallel_branches", graph, b);
  EXPECT_THAT(result.why_not, HasSubstr("1 of 2 layers"));
  EXPECT_FALSE(result.predicted);
}

TEST(WhatIf, best_variant_saves_where_the_library_chose_badly) {
  const model::Graph graph = product_and_relu();
  RowBuilder b;
  b.choice(graph.layers[0].key, "gemm:ref", 30.0);
  b.add(graph.layers[0].key, "brgemm:avx512", 20.0);
  b.choice(graph.layers[1].key, "jit", 10.0);
  const WhatIfResult result = ask("best_variant", graph, b);
  EXPECT_THAT(result.why_not, IsEmpty());
  EXPECT_NEAR(microseconds(*result.baseline), 40.0, 1e-9);
  EXPECT_NEAR(microseconds(*result.predicted), 30.0, 1e-9);
  EXPECT_NEAR(*result.predicted_speedup, 40.0 / 30.0, 1e-12);
  ASSERT_THAT(result.layers, SizeIs(1));
  EXPECT_EQ(result.layers[0].layer, "gemm0");
  EXPECT_EQ(result.layers[0].change, "gemm:ref → brgemm:avx512");
  EXPECT_NEAR(microseconds(result.layers[0].before - result.layers[0].after), 10.0, 1e-9);
  EXPECT_LT(result.predicted_interval.low, *result.predicted);
  EXPECT_GT(result.predicted_interval.high, *result.predicted);
  EXPECT_THAT(result.prerequisites, Not(IsEmpty()));
}

TEST(WhatIf, best_variant_never_predicts_a_loss) {
  const model::Graph graph = product_and_relu();
  RowBuilder b;
  b.choice(graph.layers[0].key, "default", 19.0);  // not confirmed, read faster
  b.add(graph.layers[0].key, "other", 20.0).purpose = results::Purpose::kConfirm;
  b.choice(graph.layers[1].key, "jit", 10.0);
  const WhatIfResult result = ask("best_variant", graph, b);
  EXPECT_NEAR(microseconds(*result.predicted), 29.0, 1e-9);
  EXPECT_THAT(result.layers, IsEmpty());
}

TEST(WhatIf, best_variant_needs_the_choice_of_the_library_for_every_layer) {
  const model::Graph graph = product_and_relu();
  RowBuilder b;
  b.add(graph.layers[0].key, "a", 30.0);
  b.choice(graph.layers[1].key, "jit", 10.0);
  const WhatIfResult result = ask("best_variant", graph, b);
  EXPECT_FALSE(result.predicted.has_value());
  EXPECT_EQ(result.why_not, "no time of the library's own choice for 1 of 2 layers, first gemm0");
}

TEST(WhatIf, fusion_compares_the_cheapest_covers) {
  const model::Graph graph = product_and_relu();
  RowBuilder b;
  b.choice(graph.layers[0].key, "a", 30.0);
  b.choice(graph.layers[1].key, "a", 10.0);
  EXPECT_EQ(ask("fusion", graph, b).why_not, "no fused layer has a time in this run");
  b.add(rewrite::matches(graph).at(0).key, "fused", 32.0);
  const WhatIfResult result = ask("fusion", graph, b);
  EXPECT_NEAR(microseconds(*result.baseline), 40.0, 1e-9);
  EXPECT_NEAR(microseconds(*result.predicted), 32.0, 1e-9);
  EXPECT_NEAR(*result.predicted_speedup, 1.25, 1e-12);
  ASSERT_THAT(result.layers, SizeIs(1));
  EXPECT_EQ(result.layers[0].layer, "gemm0 + eltwise1");
  EXPECT_EQ(result.layers[0].change, "gemm_activation");
  EXPECT_NEAR(microseconds(result.layers[0].before), 40.0, 1e-9);
}

TEST(WhatIf, fusion_says_when_there_is_nothing_to_fuse_or_to_compare) {
  rewrite::GraphSketch g;
  const model::Graph graph = g.build({g.relu(g.input({4}))});
  RowBuilder b;
  EXPECT_EQ(ask("fusion", graph, b).why_not, "no time for 1 of 1 unfused layers to compare with");
  b.choice(graph.layers[0].key, "a", 10.0);
  EXPECT_EQ(ask("fusion", graph, b).why_not, "no fusion rule applies to this model");
}

TEST(WhatIf, graph_capture_is_told_by_executions_only) {
  RowBuilder b;
  const WhatIfResult result = ask("graph_capture", product_and_relu(), b);
  EXPECT_THAT(result.why_not, HasSubstr("in the modes eager and captured first"));
  EXPECT_EQ(result.execution_mode, "captured");
  EXPECT_EQ(result.baseline_mode, "eager");
}

TEST(WhatIf, framework_saves_what_the_findings_of_a_trace_lost) {
  const model::Graph graph = product_and_relu();
  const ModelInstance instance{.model = "m"};
  RowBuilder b;
  const ResultSet results(b.rows());
  WhatIfInput input(instance, graph, results);
  EXPECT_THAT(framework_what_if(input).why_not, HasSubstr("plumb trace m --run RUN"));
  EXPECT_FALSE(framework_what_if(input).applies);
  input.traced = plumb::results::ExecutedTrace::Losses{
      .mode = "plain",
      .stack = "default",
      .span = Seconds(200e-6),
      .untraced = Seconds(100e-6),
      .losses = {{"reorder", Seconds(20e-6), {"a", "b"}, "1 call"},
                 {"gap", Seconds(60e-6), {}, "2 gaps"}}};
  const WhatIfResult result = framework_what_if(input);
  EXPECT_EQ(result.why_not, "");
  EXPECT_NEAR(microseconds(result.baseline.value()), 100.0, 1e-9);
  EXPECT_NEAR(microseconds(result.predicted.value()), 60.0, 1e-9) << "half of 20 and of 60";
  ASSERT_THAT(result.layers, SizeIs(2));
  EXPECT_EQ(result.layers[0].change, "gap: 2 gaps");
  EXPECT_EQ(result.layers[1].layer, "a");
  EXPECT_THAT(result.mode, HasSubstr("default in the mode plain"));
  input.traced->losses[1].gain = Seconds(1.0);
  EXPECT_EQ(framework_what_if(input).predicted, Seconds(0.0)) << "findings overlap";
  input.traced->span = Seconds(0.0);
  EXPECT_THAT(framework_what_if(input).why_not, HasSubstr("no times"));
}

TEST(WhatIf, bf16_with_channels_last_takes_the_variants_that_have_them) {
  const model::Graph graph = product_and_relu();
  const model::Graph lower = rewrite::with_precision(graph, model::DataType::kBf16);
  RowBuilder b;
  b.add(graph.layers[0].key, "brgemm", 20.0);
  b.add(graph.layers[1].key, "impl=jit;layout=channels_last", 5.0);
  b.add(lower.layers[0].key, "impl=amx;layout=any", 12.0);
  b.add(lower.layers[1].key, "impl=jit;layout=any", 3.0);
  const WhatIfResult none = ask("bf16+channels_last", graph, b);
  EXPECT_TRUE(none.applies);
  EXPECT_THAT(none.why_not, HasSubstr("in the mode bf16+channels_last first"));
  EXPECT_FALSE(none.predicted);
  b.add(lower.layers[1].key, "impl=jit;layout=channels_last", 4.0);
  b.add(lower.layers[1].key, "impl=jit;layout=channels_last;algorithm=other", 6.0);
  const WhatIfResult result = ask("bf16+channels_last", graph, b);
  EXPECT_THAT(result.why_not, IsEmpty());
  EXPECT_NEAR(microseconds(*result.baseline), 25.0, 1e-9);
  EXPECT_NEAR(microseconds(*result.predicted), 16.0, 1e-9)
      << "the fastest of them, and the product";
  EXPECT_EQ(result.execution_mode, "bf16+channels_last");
  EXPECT_THAT(result.layers, SizeIs(2));
  EXPECT_FALSE(ask("bf16+channels_last", graph, b, {"handmade", 1, "bf16"}).applies);
}

TEST(WhatIf, channels_last_is_predicted_by_its_execution_only) {
  const model::Graph graph = product_and_relu();
  RowBuilder b;
  EXPECT_THAT(ask("channels_last", graph, b).why_not, HasSubstr("in the mode channels_last first"));
  EXPECT_THAT(ask("channels_last+f16", graph, b).why_not,
              HasSubstr("in the mode channels_last+f16 first"));
  EXPECT_EQ(ask("channels_last+f16", graph, b, {"handmade", 1, "bf16"}).why_not,
            "the model runs in bf16 already");
}

}  // namespace
}  // namespace plumb::analysis
