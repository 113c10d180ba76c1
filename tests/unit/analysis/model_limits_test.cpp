// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/limits/model_limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/analysis/bounds/bounds.hpp"
#include "tests/unit/analysis/row_builder.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::analysis {
namespace {

using testing::SizeIs;

const ModelInstance kInstance{"handmade", 1, "f32"};

results::Calibration ceilings(double gflops, double gigabytes) {
  results::Calibration calibration;
  calibration.peak_f32 = FlopsPerSecond{gflops * 1e9};
  calibration.memory_bandwidth = BytesPerSecond{gigabytes * 1e9};
  return calibration;
}

ModelLimits limits_of(const model::Graph& graph,
                      const RowBuilder& rows,
                      const std::optional<results::Calibration>& calibration) {
  const ResultSet results(rows.rows(), calibration);
  return compute_limits(graph, results, compute_bounds(kInstance, graph, results));
}

/// A product of 64 × 256 by 256 × 128: 4,194,304 operations.
model::Graph product() {
  rewrite::GraphSketch g;
  return g.build({g.gemm(g.input({64, 256}), 128)});
}

TEST(ModelLimits, a_product_at_more_than_half_of_the_peak_is_bound_by_arithmetic) {
  const model::Graph graph = product();
  RowBuilder b;
  b.add(graph.layers[0].key, "a", 60.0);
  const ModelLimits limits = limits_of(graph, b, ceilings(100.0, 1000.0));
  ASSERT_THAT(limits.steps, SizeIs(1));
  EXPECT_EQ(limits.steps[0].limit, ModelLimits::Limit::kCompute);
  EXPECT_NEAR(*limits.steps[0].peak_share, 4'194'304 / 60e-6 / 100e9, 1e-9);
  EXPECT_DOUBLE_EQ(limits.share(ModelLimits::Limit::kCompute), 1.0);
  EXPECT_DOUBLE_EQ(*limits.ridge, 0.1);
}

TEST(ModelLimits, below_half_of_both_ceilings_a_step_waits) {
  const model::Graph graph = product();
  RowBuilder b;
  b.add(graph.layers[0].key, "a", 500.0);
  EXPECT_EQ(limits_of(graph, b, ceilings(100.0, 1000.0)).steps[0].limit,
            ModelLimits::Limit::kLatency);
}

TEST(ModelLimits, an_element_wise_step_is_bound_by_memory) {
  rewrite::GraphSketch g;
  const model::Graph graph = g.build({g.relu(g.input({1'000'000}))});
  RowBuilder b;
  b.add(graph.layers[0].key, "a", 1000.0);  // 8 MB in 1 ms
  const ModelLimits limits = limits_of(graph, b, ceilings(100.0, 10.0));
  EXPECT_EQ(limits.steps[0].limit, ModelLimits::Limit::kMemory);
  EXPECT_NEAR(*limits.steps[0].bandwidth_share, 0.8, 1e-9);
  EXPECT_FALSE(limits.steps[0].peak_share);
  EXPECT_EQ(limits.limit, ModelLimits::Limit::kMemory);
  EXPECT_EQ(limits.compulsory.value, 8'000'000);
}

TEST(ModelLimits, a_step_that_is_shorter_than_its_call_is_overhead) {
  rewrite::GraphSketch g;
  const model::Graph graph = g.build({g.relu(g.input({16}))});
  RowBuilder b;
  b.add(graph.layers[0].key, "a", 1.0).floor = Seconds(0.7e-6);
  EXPECT_EQ(limits_of(graph, b, ceilings(100.0, 10.0)).steps[0].limit,
            ModelLimits::Limit::kOverhead);
}

TEST(ModelLimits, without_a_calibration_nothing_is_said_of_ceilings) {
  const model::Graph graph = product();
  RowBuilder b;
  b.add(graph.layers[0].key, "a", 60.0);
  const ModelLimits limits = limits_of(graph, b, std::nullopt);
  EXPECT_FALSE(limits.steps[0].limit);
  EXPECT_FALSE(limits.ridge);
  EXPECT_FALSE(limits.limit);
  EXPECT_TRUE(limits.steps[0].intensity);
  EXPECT_DOUBLE_EQ(limits.share(std::nullopt), 1.0);
}

TEST(ModelLimits, a_product_without_a_peak_of_its_type_has_no_limit) {
  rewrite::GraphSketch g;
  const model::Graph graph = g.build({g.gemm(g.input({64, 256}, model::DataType::kF16), 128)});
  RowBuilder b;
  b.add(graph.layers[0].key, "a", 500.0);
  EXPECT_FALSE(limits_of(graph, b, ceilings(100.0, 1000.0)).steps[0].limit);
}

TEST(ModelLimits, says_what_blocks_of_channels_that_are_not_full_compute_beside_the_point) {
  rewrite::GraphSketch g;
  const model::Graph graph = g.build({g.conv(g.input({1, 32, 8, 8}), 24, 3)});
  rewrite::GraphSketch whole;
  const model::Graph padded = whole.build({whole.conv(whole.input({1, 32, 8, 8}), 32, 3)});
  RowBuilder b;
  b.add(graph.layers[0].key, "impl=brgconv:avx512_core;layout=any", 60.0);
  ModelLimits limits = limits_of(graph, b, ceilings(100.0, 1000.0));
  EXPECT_DOUBLE_EQ(*limits.steps[0].block_use, 0.75);
  EXPECT_EQ(limits.steps[0].padded, padded.layers[0].key);
  EXPECT_FALSE(limits.steps[0].padded_seconds);
  RowBuilder more;
  more.add(padded.layers[0].key, "a", 50.0);
  add_padded_times(ResultSet(more.rows()), limits);
  EXPECT_DOUBLE_EQ(limits.steps[0].padded_seconds->count(), 50e-6);
}

TEST(ModelLimits, says_how_much_of_the_last_wave_of_a_gpu_stays_empty) {
  const model::Graph graph = product();
  RowBuilder b;
  b.add(graph.layers[0].key, "fast", 60.0).attributes = {{"waves", "1.25"}};
  b.add(graph.layers[0].key, "slow", 90.0).attributes = {{"waves", "0.5"}};
  ModelLimits limits = limits_of(graph, b, std::nullopt);
  EXPECT_FALSE(limits.steps[0].idle_in_last_wave());
  add_waves(ResultSet(b.rows()), {}, limits);
  EXPECT_DOUBLE_EQ(*limits.steps[0].waves, 1.25);
  EXPECT_DOUBLE_EQ(*limits.steps[0].idle_in_last_wave(), 0.75);
}

TEST(ModelLimits, the_slowest_step_comes_first) {
  rewrite::GraphSketch g;
  const auto x = g.input({64, 256});
  const model::Graph graph = g.build({g.gemm(g.gemm(x, 128), 64)});
  RowBuilder b;
  b.add(graph.layers[0].key, "a", 60.0);
  b.add(graph.layers[1].key, "a", 90.0);
  const ModelLimits limits = limits_of(graph, b, ceilings(100.0, 1000.0));
  EXPECT_EQ(limits.steps[0].layers.front(), 1U);
  EXPECT_NEAR(limits.share(ModelLimits::Limit::kCompute), 60.0 / 150.0, 1e-9);
}

}  // namespace
}  // namespace plumb::analysis
