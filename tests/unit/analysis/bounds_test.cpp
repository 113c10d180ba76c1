// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/bounds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/analysis/bounds/hardware_bound.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "harness/rewrite/quantized_graph.hpp"
#include "harness/rewrite/types/typed_graph.hpp"
#include "tests/unit/analysis/row_builder.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::analysis {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const ModelInstance kInstance{"handmade", 1, "f32"};

/// One convolution, then two that join: x → conv0 → relu1 → (conv2 → relu3 | conv4) → add5 → view6.
model::Graph two_branches() {
  rewrite::GraphSketch b;
  const model::ValueId stem = b.relu(b.conv(b.input({1, 3, 8, 8}), 8, 3));
  const model::ValueId left = b.relu(b.conv(stem, 8, 3));
  const model::ValueId right = b.conv(stem, 8, 1);
  return b.build({b.view(b.add(left, right), {1, 512})});
}

model::LayerKey fused_key(const model::Graph& graph, const std::vector<model::LayerId>& layers) {
  for (const rewrite::Match& match : rewrite::matches(graph)) {
    if (match.layers == layers) {
      return match.key;
    }
  }
  return {};
}

const Bound& find(const ModelBounds& model, results::BoundKind kind, std::string_view mode) {
  for (const Bound& bound : model.bounds) {
    if (bound.kind == kind && bound.mode == mode) {
      return bound;
    }
  }
  throw std::runtime_error("no such bound");
}

double microseconds(Seconds seconds) {
  return seconds.count() * 1e6;
}

RowBuilder plain_rows(const model::Graph& graph) {
  RowBuilder b;
  b.choice(graph.layers[0].key, "a", 40.0);
  b.choice(graph.layers[1].key, "a", 10.0);  // both relus: one key, one row
  b.choice(graph.layers[2].key, "a", 100.0);
  b.choice(graph.layers[4].key, "a", 30.0);
  b.choice(graph.layers[5].key, "a", 20.0);
  return b;
}

TEST(Bounds, add_up_the_hand_computed_example) {
  const model::Graph graph = two_branches();
  RowBuilder b = plain_rows(graph);
  b.add(fused_key(graph, {0, 1}), "f", 44.0);   // saves 6
  b.add(fused_key(graph, {2, 3}), "f", 115.0);  // dearer than 110: not used
  b.add(fused_key(graph, {4, 5}), "f", 35.0);   // saves 15
  const ModelBounds model = compute_bounds(kInstance, graph, ResultSet(b.rows()));

  EXPECT_EQ(model.measured_layers, 7U);
  EXPECT_EQ(model.total_layers, 7U);
  EXPECT_THAT(model.unsupported, IsEmpty());
  // 40 + 10 + 100 + 10 + 30 + 20
  EXPECT_NEAR(
      microseconds(find(model, results::BoundKind::kLibrary, "plain").seconds), 210.0, 1e-9);
  EXPECT_NEAR(microseconds(find(model, results::BoundKind::kBenanzaSequential, "plain").seconds),
              210.0,
              1e-9);
  // 40 + 10 + 100 + 10 + 20
  EXPECT_NEAR(microseconds(find(model, results::BoundKind::kLibraryParallel, "plain").seconds),
              180.0,
              1e-9);
  EXPECT_NEAR(microseconds(find(model, results::BoundKind::kBenanzaParallel, "plain").seconds),
              180.0,
              1e-9);
  // 44 + 100 + 10 + 35
  EXPECT_NEAR(
      microseconds(find(model, results::BoundKind::kLibrary, "fusion").seconds), 189.0, 1e-9);
  // The addition waits for the left branch: 44 + 110 + 20 plain, 44 + 110 + 35 fused.
  EXPECT_NEAR(microseconds(find(model, results::BoundKind::kLibraryParallel, "fusion").seconds),
              174.0,
              1e-9);
  EXPECT_TRUE(find(model, results::BoundKind::kLibrary, "fusion").complete);

  ASSERT_THAT(model.cover, SizeIs(4));
  EXPECT_EQ(model.cover[0].rewrite, "conv_activation");
  EXPECT_EQ(model.cover[3].rewrite, "conv_add");
  EXPECT_THAT(model.critical_path, ElementsAre(0U, 1U, 2U, 3U, 5U));
  double along = 0.0;
  for (const PartitionStep& step : model.critical_steps) {
    along += microseconds(step.time->time.median);
  }
  EXPECT_NEAR(along, 174.0, 1e-9);
}

TEST(Bounds, combine_intervals_of_one_row_linearly_and_of_different_rows_squared) {
  rewrite::GraphSketch g;
  const model::ValueId x = g.input({4});
  const model::Graph graph = g.build({g.eltwise(g.relu(g.relu(g.relu(x))), "exp")});
  RowBuilder b;
  RowBuilder::set_time(b.add(graph.layers[0].key, "a", 0), 10.0, 0.10);  // ±1, three times
  RowBuilder::set_time(b.add(graph.layers[3].key, "a", 0), 40.0, 0.10);  // ±4
  const Bound bound = find(
      compute_bounds(kInstance, graph, ResultSet(b.rows())), results::BoundKind::kLibrary, "plain");
  EXPECT_NEAR(microseconds(bound.seconds), 70.0, 1e-9);
  EXPECT_NEAR(microseconds(bound.interval.low), 70.0 - 5.0, 1e-9);  // √(3² + 4²)
  EXPECT_NEAR(microseconds(bound.interval.high), 70.0 + 5.0, 1e-9);
  EXPECT_THAT(bound.inputs, ElementsAre(1, 2));
  EXPECT_EQ(bound.oldest_row, Timestamp(std::chrono::seconds(1'700'000'001)));
}

TEST(Bounds, are_incomplete_where_a_layer_has_no_time) {
  const model::Graph graph = two_branches();
  RowBuilder b;
  b.choice(graph.layers[0].key, "a", 40.0);
  b.choice(graph.layers[1].key, "a", 10.0);
  b.choice(graph.layers[2].key, "a", 100.0);
  b.fail(graph.layers[4].key, results::Outcome::Kind::kUnsupported, "no 1x1");
  const ModelBounds model = compute_bounds(kInstance, graph, ResultSet(b.rows()));
  EXPECT_EQ(model.measured_layers, 5U);
  EXPECT_EQ(model.total_layers, 7U);
  ASSERT_THAT(model.unsupported, SizeIs(2));
  EXPECT_EQ(model.unsupported[0].layer, "conv4");
  EXPECT_EQ(model.unsupported[0].reason, "unsupported: no 1x1");
  EXPECT_EQ(model.unsupported[1].reason, "not measured in this run");
  for (const Bound& bound : model.bounds) {
    EXPECT_FALSE(bound.complete) << to_text(bound.kind) << " " << bound.mode;
  }
  EXPECT_NEAR(
      microseconds(find(model, results::BoundKind::kLibrary, "plain").seconds), 160.0, 1e-9);
}

TEST(Bounds, become_complete_when_only_the_fused_layer_has_a_time) {
  const model::Graph graph = two_branches();
  RowBuilder b = plain_rows(graph);
  std::vector<results::StoredMeasurement> rows = b.rows();
  rows.pop_back();  // the addition alone
  EXPECT_FALSE(find(compute_bounds(kInstance, graph, ResultSet(rows)),
                    results::BoundKind::kLibrary,
                    "fusion")
                   .complete);
  b.add(fused_key(graph, {4, 5}), "f", 500.0);
  rows.push_back(b.rows().back());
  const ModelBounds model = compute_bounds(kInstance, graph, ResultSet(rows));
  EXPECT_TRUE(find(model, results::BoundKind::kLibrary, "fusion").complete);
  EXPECT_FALSE(find(model, results::BoundKind::kLibrary, "plain").complete);
  EXPECT_TRUE(find(model, results::BoundKind::kLibraryParallel, "fusion").complete);
  EXPECT_NEAR(
      microseconds(find(model, results::BoundKind::kLibrary, "fusion").seconds), 660.0, 1e-9);
}

TEST(Bounds, never_count_an_unsupported_layer_as_free) {
  rewrite::GraphSketch g;
  const model::ValueId x = g.relu(g.input({4}));
  const model::ValueId y = g.relu(x);
  g.unsupported("loops are not supported");
  const model::Graph graph = g.build({y});
  RowBuilder b;
  b.choice(graph.layers[0].key, "a", 10.0);
  const ModelBounds model = compute_bounds(kInstance, graph, ResultSet(b.rows()));
  EXPECT_FALSE(find(model, results::BoundKind::kLibrary, "fusion").complete);
  ASSERT_THAT(model.unsupported, SizeIs(1));
  EXPECT_EQ(model.unsupported[0].reason, "loops are not supported");
}

TEST(Bounds, add_up_the_choices_of_the_library_with_cold_weights) {
  rewrite::GraphSketch g;
  const model::Graph graph = g.build({g.relu(g.matmul(g.input({4, 4}), 4))});
  RowBuilder b;
  b.add(graph.layers[0].key, "best", 10.0);
  b.choice(graph.layers[0].key, "default", 12.0);
  b.choice(graph.layers[0].key, "default", 15.0).cache = results::CacheMode::kWeights;
  b.add(graph.layers[0].key, "best", 13.0).cache = results::CacheMode::kWeights;
  b.choice(graph.layers[1].key, "default", 2.0);
  const ModelBounds model = compute_bounds(kInstance, graph, ResultSet(b.rows()));
  EXPECT_NEAR(microseconds(find(model, results::BoundKind::kLibrary, "plain").seconds), 12.0, 1e-9);
  const Bound& sum = find(model, results::BoundKind::kLayerSum, "plain");
  EXPECT_NEAR(microseconds(sum.seconds), 17.0, 1e-9);
  EXPECT_TRUE(sum.complete);
  EXPECT_THAT(sum.lacks, Contains("reorders between layouts"));
  for (const Bound& bound : model.bounds) {
    EXPECT_NE(bound.kind, results::BoundKind::kPredicted) << "no plan was executed";
  }
}

TEST(Bounds, add_up_no_choices_from_hot_times_alone) {
  rewrite::GraphSketch g;
  const model::Graph graph = g.build({g.matmul(g.input({4, 4}), 4)});
  RowBuilder b;
  b.choice(graph.layers[0].key, "default", 12.0);
  const ModelBounds model = compute_bounds(kInstance, graph, ResultSet(b.rows()));
  for (const Bound& bound : model.bounds) {
    EXPECT_NE(bound.kind, results::BoundKind::kLayerSum);
    EXPECT_TRUE(bound.complete) << to_text(bound.kind);
  }
}

TEST(Bounds, of_hardware_need_bytes_beyond_the_cache_or_operations) {
  rewrite::GraphSketch g;
  const model::Graph graph = g.build({g.matmul(g.input({256, 1024}), 512)});
  // in 1 MiB, weights 2 MiB, out 0.5 MiB = 3.5 MiB; 2 · 256 · 512 · 1024 operations
  EXPECT_EQ(compulsory_bytes(graph).value, 3'670'016);
  results::Calibration calibration;
  calibration.peak_f32 = FlopsPerSecond{268'435'456.0 / 1e-3};
  calibration.memory_bandwidth = BytesPerSecond{1'048'576.0 / 1e-3};
  calibration.last_level_cache = Bytes{2'097'152};
  const ModelBounds model = compute_bounds(kInstance, graph, ResultSet({}, calibration));
  EXPECT_NEAR(find(model, results::BoundKind::kHardware, "any").seconds.count(),
              1.5e-3,
              1e-12);  // 1.5 MiB move
  calibration.last_level_cache = Bytes{std::int64_t{1} << 30};
  EXPECT_NEAR(find(compute_bounds(kInstance, graph, ResultSet({}, calibration)),
                   results::BoundKind::kHardware,
                   "any")
                  .seconds.count(),
              1.0e-3,
              1e-12);
  calibration.theoretical_f32 = FlopsPerSecond{2.0 * calibration.peak_f32.value};
  EXPECT_NEAR(find(compute_bounds(kInstance, graph, ResultSet({}, calibration)),
                   results::BoundKind::kHardware,
                   "any")
                  .seconds.count(),
              0.5e-3,
              1e-12);
}

TEST(Bounds, of_a_step_of_training_say_what_the_update_moves) {
  rewrite::GraphSketch g;
  const model::Graph model = g.build({g.matmul(g.input({8, 1024}), 1024)});
  const model::Graph step = rewrite::training_step(model, {}, {}).training.graph;
  results::Calibration calibration;
  calibration.peak_f32 = FlopsPerSecond{1e15};
  calibration.memory_bandwidth = BytesPerSecond{1'048'576.0 / 1e-3};
  calibration.last_level_cache = Bytes{4 << 20};
  const ModelBounds bounds = compute_bounds(kInstance, step, ResultSet({}, calibration));
  // 4 MiB of weights: weights, gradient and momentum read, two of them written, less the cache.
  EXPECT_NEAR(
      find(bounds, results::BoundKind::kHardwareUpdate, "any").seconds.count(), 16e-3, 1e-9);
  const ModelBounds inference = compute_bounds(kInstance, model, ResultSet({}, calibration));
  EXPECT_TRUE(std::none_of(inference.bounds.begin(), inference.bounds.end(), [](const Bound& each) {
    return each.kind == results::BoundKind::kHardwareUpdate;
  }));
}

// A product of 2^28 operations that takes 0.25 ms shows four times the peak of the calibration.
TEST(Bounds, of_hardware_take_the_peak_that_a_layer_of_the_run_reached) {
  rewrite::GraphSketch g;
  const model::Graph graph = g.build({g.matmul(g.input({256, 1024}), 512)});
  results::Calibration calibration;
  calibration.peak_f32 = FlopsPerSecond{268'435'456.0 / 1e-3};
  calibration.memory_bandwidth = BytesPerSecond{1e12};
  calibration.last_level_cache = Bytes{std::int64_t{1} << 30};
  RowBuilder rows;
  rows.add(graph.layers[0].key, "a", 250.0);
  rows.add(graph.layers[0].key, "b", 10.0).purpose = results::Purpose::kRace;
  rows.add({"foreign:x"}, "c", 1.0);
  const ModelBounds model = compute_bounds(kInstance, graph, ResultSet(rows.rows(), calibration));
  EXPECT_NEAR(find(model, results::BoundKind::kHardware, "any").seconds.count(), 0.25e-3, 1e-12);
}

TEST(Bounds, of_hardware_do_not_price_products_of_integers_by_a_peak_of_floats) {
  rewrite::GraphSketch g;
  const model::Graph graph =
      rewrite::int8_graph(g.build({g.matmul(g.input({256, 1024}), 512)})).graph;
  ASSERT_EQ(graph.layers.back().spec.op, "matmul_integer");
  ASSERT_EQ(graph.layers.back().spec.outputs[0].dtype, model::DataType::kF32);
  results::Calibration calibration;
  calibration.peak_f32 = FlopsPerSecond{1e9};
  calibration.memory_bandwidth = BytesPerSecond{1'048'576.0 / 1e-3};
  calibration.last_level_cache = Bytes{0};
  RowBuilder rows;  // a thousand times the peak of the calibration: no peak of f32
  rows.add(graph.layers.back().key, "vnni", 0.268435456);
  const ModelBounds model = compute_bounds(kInstance, graph, ResultSet(rows.rows(), calibration));
  const double bytes = 4.0 * 256 * 1024 + 4.0 + 1.0 * 1024 * 512 + 4.0 * 512 + 4.0 * 256 * 512;
  EXPECT_NEAR(find(model, results::BoundKind::kHardware, "any").seconds.count(),
              bytes / 1'048'576.0 * 1e-3,
              1e-9);
  EXPECT_FALSE(find(model, results::BoundKind::kHardware, "any").complete)
      << "no peak of integers is known";
  calibration.last_level_cache = Bytes{std::int64_t{1} << 30};
  const ModelBounds cached = compute_bounds(kInstance, graph, ResultSet(rows.rows(), calibration));
  EXPECT_FALSE(find(cached, results::BoundKind::kHardware, "any").complete);
  EXPECT_EQ(known_time(find(cached, results::BoundKind::kHardware, "any")), std::nullopt)
      << "and never zero";
}

TEST(Bounds, of_hardware_price_products_of_bytes_by_their_own_peak) {
  rewrite::GraphSketch g;
  const model::Graph graph =
      rewrite::int8_graph(g.build({g.matmul(g.input({256, 1024}), 512)})).graph;
  ASSERT_EQ(graph.layers.back().spec.op, "matmul_integer");
  results::Calibration calibration;
  calibration.peak_f32 = FlopsPerSecond{1e9};
  calibration.peak_int8 = FlopsPerSecond{268'435'456.0 / 1e-3};  // 2^28 operations in 1 ms
  calibration.memory_bandwidth = BytesPerSecond{1e12};
  calibration.last_level_cache = Bytes{std::int64_t{1} << 30};
  const ModelBounds model = compute_bounds(kInstance, graph, ResultSet({}, calibration));
  EXPECT_NEAR(find(model, results::BoundKind::kHardware, "any").seconds.count(), 1e-3, 1e-12);
  EXPECT_TRUE(find(model, results::BoundKind::kHardware, "any").complete);
  RowBuilder rows;  // reached in 0.25 ms: the calibration met a slow moment
  rows.add(graph.layers.back().key, "vnni", 250.0);
  const ModelBounds faster = compute_bounds(kInstance, graph, ResultSet(rows.rows(), calibration));
  EXPECT_NEAR(find(faster, results::BoundKind::kHardware, "any").seconds.count(), 0.25e-3, 1e-12);
  EXPECT_NEAR(with_reached_peaks(calibration, rows.rows()).peak_f32.value, 1e9, 1.0);
}

TEST(Bounds, of_hardware_never_hold_bytes_for_slower_than_floats) {
  rewrite::GraphSketch g;
  const model::Graph graph =
      rewrite::int8_graph(g.build({g.matmul(g.input({256, 1024}), 512)})).graph;
  results::Calibration calibration;
  calibration.peak_f32 = FlopsPerSecond{268'435'456.0 / 1e-3};
  calibration.peak_int8 = FlopsPerSecond{1e9};  // a disturbed moment
  calibration.memory_bandwidth = BytesPerSecond{1e12};
  calibration.last_level_cache = Bytes{std::int64_t{1} << 30};
  const ModelBounds model = compute_bounds(kInstance, graph, ResultSet({}, calibration));
  EXPECT_NEAR(find(model, results::BoundKind::kHardware, "any").seconds.count(), 1e-3, 1e-12);
}

struct PeakCase {
  const char* type;
  std::optional<FlopsPerSecond> results::Calibration::*peak;
};

void PrintTo(const PeakCase& each, std::ostream* out) {
  *out << each.type;
}

class TypePeak : public testing::TestWithParam<PeakCase> {};

TEST_P(TypePeak, prices_products_of_its_type_only_where_it_is_known) {
  const auto [type, peak] = GetParam();
  rewrite::GraphSketch g;
  const model::Graph graph =
      rewrite::typed_graph(g.build({g.matmul(g.input({256, 1024}), 512)}), type);
  results::Calibration calibration;
  calibration.peak_f32 = FlopsPerSecond{1e9};
  calibration.peak_bf16 = FlopsPerSecond{1e12};  // says nothing of another type
  calibration.memory_bandwidth = BytesPerSecond{1e12};
  RowBuilder rows;
  rows.add(graph.layers.back().key, "tensor_op", 250.0);
  const auto bound = [&](const RowBuilder& of) {
    return find(compute_bounds(kInstance, graph, ResultSet(of.rows(), calibration)),
                results::BoundKind::kHardware,
                "any");
  };
  EXPECT_FALSE(bound(RowBuilder()).complete);
  EXPECT_FALSE(bound(rows).complete) << "what one layer reached is no ceiling";
  const double operations = 268'435'456.0;  // 2^28
  calibration.*peak = FlopsPerSecond{operations / 1e-3};
  EXPECT_TRUE(bound(RowBuilder()).complete);
  EXPECT_NEAR(bound(RowBuilder()).seconds.count(), 1e-3, 1e-12);
  EXPECT_NEAR(bound(rows).seconds.count(), 0.25e-3, 1e-12) << "the calibration met a slow moment";
  EXPECT_NEAR(with_reached_peaks(calibration, rows.rows()).peak_f32.value, 1e9, 1.0)
      << "it is no peak of f32";
  calibration.*peak = FlopsPerSecond{1.0};
  EXPECT_NEAR(bound(RowBuilder()).seconds.count(), operations / 1e9, 1e-9) << "computed in f32";
}

INSTANTIATE_TEST_SUITE_P(Types,
                         TypePeak,
                         testing::Values(PeakCase{"f16", &results::Calibration::peak_f16},
                                         PeakCase{"tf32", &results::Calibration::peak_tf32}),
                         [](const auto& instance) { return std::string(instance.param.type); });

TEST(Bounds, of_hardware_are_unknown_where_nothing_limits_a_model) {
  rewrite::GraphSketch g;
  const model::Graph graph = g.build({g.relu(g.input({4, 4}))});
  results::Calibration calibration;
  calibration.peak_f32 = FlopsPerSecond{1e9};
  calibration.memory_bandwidth = BytesPerSecond{1e9};
  calibration.last_level_cache = Bytes{std::int64_t{1} << 30};
  const ModelBounds model = compute_bounds(kInstance, graph, ResultSet({}, calibration));
  EXPECT_EQ(known_time(find(model, results::BoundKind::kHardware, "any")), std::nullopt);
}

TEST(Bounds, of_hardware_do_not_price_products_of_8_bit_floats_by_a_peak_of_others) {
  rewrite::GraphSketch g;
  model::Graph graph = g.build({g.matmul(g.input({256, 1024}), 512)});
  model::Layer& product = graph.layers.back();
  for (const std::size_t operand : {0U, 1U}) {
    product.spec.inputs[operand]->dtype = model::DataType::kF8E4M3;
    graph.values[product.inputs[operand].value()].type.dtype = model::DataType::kF8E4M3;
  }
  product.key = model::to_key(product.spec);
  results::Calibration calibration;
  calibration.peak_f32 = FlopsPerSecond{1e9};
  calibration.memory_bandwidth = BytesPerSecond{1e9};
  RowBuilder rows;  // a thousand times the peak of the calibration: no peak of f32
  rows.add(product.key, "fp8", 0.268435456);
  const ModelBounds model = compute_bounds(kInstance, graph, ResultSet(rows.rows(), calibration));
  const double bytes = 1.0 * 256 * 1024 + 1.0 * 1024 * 512 + 4.0 * 256 * 512;
  EXPECT_NEAR(find(model, results::BoundKind::kHardware, "any").seconds.count(), bytes / 1e9, 1e-9);
  EXPECT_FALSE(find(model, results::BoundKind::kHardware, "any").complete);
  EXPECT_NEAR(with_reached_peaks(calibration, rows.rows()).peak_f32.value, 1e9, 1.0);
}

TEST(Bounds, of_hardware_count_the_rows_that_a_gather_reads) {
  rewrite::GraphSketch g;
  const model::ValueId rows =
      g.layer("gather",
              {g.weight({30000, 768}), g.input({128}, model::DataType::kS64)},
              {128, 768},
              {{"axis", std::int64_t{0}}, {"distribution", std::string("uniform")}});
  const model::Graph graph = g.build({rows});
  EXPECT_EQ(compulsory_bytes(graph).value, 128 * 8 + 2 * 128 * 768 * 4);
}

TEST(Bounds, report_a_bound_that_is_none) {
  rewrite::GraphSketch g;
  const model::Graph graph = g.build({g.matmul(g.input({256, 1024}), 512)});
  RowBuilder b;
  b.choice(graph.layers[0].key, "a", 900.0);
  results::Calibration calibration;
  calibration.peak_f32 = FlopsPerSecond{1e12};
  calibration.memory_bandwidth = BytesPerSecond{3'670'016.0 / 1e-3};  // 1 ms to move all of it
  const ModelBounds model = compute_bounds(kInstance, graph, ResultSet(b.rows(), calibration));
  EXPECT_THAT(model.findings, Contains(HasSubstr("hardware (any) at 0.001 s lies above library")));
  EXPECT_THAT(model.findings, Not(Contains(HasSubstr("no calibration"))));
}

TEST(Bounds, report_fall_backs_disturbance_and_instability) {
  const model::Graph graph = two_branches();
  RowBuilder b = plain_rows(graph);
  std::vector<results::StoredMeasurement> rows = b.rows();
  rows[1].measurement.reference_implementation = true;  // both relus
  rows[2].measurement.disturbance.disturbed = true;
  rows[3].measurement.outcome = {results::Outcome::Kind::kUnstable, "wide"};
  const ModelBounds model = compute_bounds(kInstance, graph, ResultSet(rows));
  EXPECT_THAT(
      model.findings,
      Contains(HasSubstr("falls back to a reference implementation for eltwise1 (2 layers): "
                         "v1:eltwise")));
  EXPECT_THAT(model.disturbances,
              ElementsAre(HasSubstr("1 of 5 rows used were measured on a disturbed"),
                          HasSubstr("1 of 5 rows used are unstable")));
  EXPECT_THAT(all_findings(model), SizeIs(model.findings.size() + 2));
  EXPECT_THAT(model.findings, Contains(HasSubstr("no calibration")));
}

TEST(Bounds, of_an_empty_model_are_zero_and_complete) {
  const ModelBounds model = compute_bounds(kInstance, model::Graph{}, ResultSet({}));
  EXPECT_EQ(find(model, results::BoundKind::kLibrary, "fusion").seconds.count(), 0.0);
  EXPECT_TRUE(find(model, results::BoundKind::kLibrary, "fusion").complete);
  EXPECT_THAT(model.cover, IsEmpty());
}

}  // namespace
}  // namespace plumb::analysis
