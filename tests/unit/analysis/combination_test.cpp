// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>

#include "harness/analysis/whatif/what_if.hpp"
#include "harness/analysis/whatif/what_if_input.hpp"
#include "harness/results/execution.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "tests/unit/analysis/row_builder.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::analysis {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

const ModelInstance kInstance{"handmade", 1, "f32"};

/// A product and a ReLU: the library's choice is slow, fusion saves the ReLU, f16 halves it.
struct Sketch {
  model::Graph graph;
  RowBuilder rows;

  Sketch() {
    rewrite::GraphSketch g;
    graph = g.build({g.relu(g.gemm(g.input({4, 8}), 16))});
    add(graph, 1.0);
  }

  void add(const model::Graph& typed, double factor) {
    for (const model::Layer& layer : typed.layers) {
      rows.choice(layer.key, "chosen", 10.0 * factor);
      rows.add(layer.key, "fast", 8.0 * factor);
    }
    for (const rewrite::Match& match : rewrite::matches(typed)) {
      rows.choice(match.key, "chosen", 11.0 * factor);
      rows.add(match.key, "fast", 9.0 * factor);
    }
  }

  [[nodiscard]] std::vector<WhatIfResult> search() const {
    const ResultSet results(rows.rows());
    std::vector<std::string> known;
    for (const WhatIf& row : what_ifs()) {
      known.emplace_back(row.execution_mode);
    }
    return find_combinations({kInstance, graph, results}, known);
  }
};

TEST(Combination, joins_the_fastest_variants_and_fusion) {
  const std::vector<WhatIfResult> found = Sketch().search();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].execution_mode, "best_variant+fusion");
  EXPECT_TRUE(found[0].combination);
  EXPECT_DOUBLE_EQ(found[0].baseline->count(), 20e-6);
  EXPECT_DOUBLE_EQ(found[0].predicted->count(), 9e-6);
}

TEST(Combination, adds_the_type_that_saves_most_and_proposes_three_at_most) {
  Sketch sketch;
  sketch.add(rewrite::with_precision(sketch.graph, model::DataType::kF16), 0.5);
  sketch.add(rewrite::with_precision(sketch.graph, model::DataType::kBf16), 0.75);
  const std::vector<WhatIfResult> found = sketch.search();
  ASSERT_THAT(found, SizeIs(3));
  EXPECT_EQ(found[0].execution_mode, "best_variant+f16+fusion");
  EXPECT_DOUBLE_EQ(found[0].predicted->count(), 4.5e-6);
  for (const WhatIfResult& each : found) {
    EXPECT_NE(each.execution_mode, "best_variant+bf16+fusion");  // a row of the table has it
  }
}

TEST(Combination, proposes_nothing_without_the_librarys_own_choices) {
  Sketch sketch;
  RowBuilder alone;
  for (const model::Layer& layer : sketch.graph.layers) {
    alone.add(layer.key, "fast", 8.0);
  }
  const ResultSet results(alone.rows());
  EXPECT_THAT(find_combinations({kInstance, sketch.graph, results}, {}), IsEmpty());
}

TEST(Combination, stands_among_the_what_ifs_of_a_model) {
  const Sketch sketch;
  const ResultSet results(sketch.rows.rows());
  const ModelWhatIfs all = compute_what_ifs({kInstance, sketch.graph, results});
  const auto rows = std::count_if(  // that are not of steps of training alone
      what_ifs().begin(),
      what_ifs().end(),
      [](const WhatIf& row) { return !row.of_steps; });
  EXPECT_EQ(all.whatifs.size(), static_cast<std::size_t>(rows) + 1);
  EXPECT_TRUE(all.whatifs.back().combination);
}

TEST(ModePrice, refuses_what_hot_times_do_not_hold) {
  const Sketch sketch;
  const ResultSet results(sketch.rows.rows());
  const WhatIfInput input{kInstance, sketch.graph, results};
  for (const char* const mode : {"channels_last", "captured", "streams", "bf16", "int8"}) {
    EXPECT_FALSE(price_mode(input, results::execution_mode_from(mode))) << mode;
  }
  EXPECT_DOUBLE_EQ(price_mode(input, {})->median.count(), 20e-6);
  EXPECT_DOUBLE_EQ(price_mode(input, {.best_variant = true})->median.count(), 16e-6);
}

TEST(ModeSettings, names_the_frameworks_that_have_each_option) {
  const std::map<std::string_view, std::vector<std::string_view>> frameworks{
      {"best_variant", {"oneDNN", "cuDNN", "ONNX Runtime", "PyTorch"}},
      {"bf16", {"oneDNN", "cuDNN", "ONNX Runtime", "PyTorch"}},
      {"captured", {"cuDNN", "ONNX Runtime", "PyTorch"}},
      {"channels_last", {"oneDNN", "cuDNN", "ONNX Runtime", "PyTorch"}},
      {"checkpointing", {"ONNX Runtime", "PyTorch"}},
      {"conv_relu_backward", {"cuDNN"}},
      {"f16", {"oneDNN", "cuDNN", "ONNX Runtime", "PyTorch"}},
      {"folded_norms", {"PyTorch"}},
      {"fused_optimizer", {"ONNX Runtime", "PyTorch"}},
      {"fusion", {"oneDNN", "cuDNN", "ONNX Runtime", "PyTorch"}},
      {"gemm_bias", {"oneDNN", "cuBLASLt"}},
      {"gemm_gelu", {"cuBLASLt"}},
      {"gemm_relu", {"cuBLASLt"}},
      {"int8", {"oneDNN", "cuDNN", "ONNX Runtime", "PyTorch"}},
      {"micro_batch", {"oneDNN", "cuDNN"}},
      {"parallel_branches", {"oneDNN", "cuDNN", "ONNX Runtime", "PyTorch"}},
      {"tf32", {"oneDNN", "cuDNN", "ONNX Runtime", "PyTorch"}},
  };
  for (const auto& [option, names] : frameworks) {
    std::vector<std::string_view> found;
    for (const WhatIfResult::Setting& each : settings_of(option)) {
      EXPECT_EQ(each.option, option);
      EXPECT_FALSE(each.setting.empty());
      found.push_back(each.framework);
    }
    EXPECT_EQ(found, names) << option;
  }
  EXPECT_THAT(settings_of("fusion+int8"), SizeIs(8));
  EXPECT_THAT(settings_of("plain"), IsEmpty());
}

TEST(ModeSettings, exist_for_every_what_if) {
  for (const WhatIf& row : what_ifs()) {
    EXPECT_EQ(settings_of(row.execution_mode).empty(), row.execution_mode.empty()) << row.name;
  }
}

TEST(ModeAccuracy, is_that_of_the_type) {
  EXPECT_EQ(accuracy_class("best_variant+fusion"), "same");
  EXPECT_EQ(accuracy_class("best_variant+bf16+fusion"), "bf16");
  EXPECT_EQ(accuracy_class("fusion+int8"), "int8");
  EXPECT_EQ(accuracy_class(""), "same") << "no mode switches it on";
}

}  // namespace
}  // namespace plumb::analysis
