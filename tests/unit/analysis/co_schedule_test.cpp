// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/coschedule/co_schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <set>

#include "harness/model/onnx/onnx_reader.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "suites/zoo/zoo.hpp"
#include "tests/unit/analysis/row_builder.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::analysis {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Makes a row for each key of a model, plain and fused: 2 µs, and its operations and bytes at
/// `rate` G/s.
std::vector<results::StoredMeasurement> rows_at(const model::Graph& graph, double rate) {
  RowBuilder b;
  std::set<model::LayerKey> seen;
  const auto add = [&](const model::LayerKey& key, const model::LayerCost& cost) {
    if (seen.insert(key).second) {
      const Bytes bytes = cost.input_bytes + cost.weight_bytes + cost.output_bytes;
      b.add(key, "a", 2.0 + (cost.flops.value + static_cast<double>(bytes.value)) * 1e-3 / rate);
    }
  };
  for (const model::Layer& layer : graph.layers) {
    if (layer.role == model::Layer::Role::kCompute) {
      add(layer.key, layer.cost);
    }
  }
  for (const rewrite::Match& match : rewrite::matches(graph)) {
    add(match.key, match.cost);
  }
  return b.rows();
}

double microseconds(const Bound& bound) {
  return bound.seconds.count() * 1e6;
}

/// Two convolutions of equal cost beside each other, and their sum.
struct Branches {
  model::Graph graph;
  RowBuilder two;
  RowBuilder one;

  Branches() {
    rewrite::GraphSketch g;
    const auto x = g.input({1, 8, 8, 8});
    graph = g.build({g.add(g.conv(x, 16, 3), g.conv(x, 16, 5))});
    add(graph.layers[0].key, 6.0, 10.0);
    add(graph.layers[1].key, 6.0, 10.0);
    add(graph.layers[2].key, 1.0, 1.5);
  }

  void add(const model::LayerKey& key, double with_two, double with_one) {
    two.add(key, "a", with_two);
    one.add(key, "a", with_one);
  }

  [[nodiscard]] CoSchedule::Scaling scaling() const {
    CoSchedule::Scaling scaling(2);
    scaling.add(1, one.rows());
    return scaling;
  }
};

TEST(CoSchedule, puts_branches_side_by_side_with_a_thread_each) {
  const Branches b;
  const ResultSet results(b.two.rows());
  const auto schedule = co_schedule(b.graph, results, b.scaling(), ModelPartition::Mode::kPlain);
  ASSERT_TRUE(schedule);
  EXPECT_DOUBLE_EQ(microseconds(schedule->sequential), 13.0);
  EXPECT_DOUBLE_EQ(microseconds(schedule->critical_path), 7.0);
  EXPECT_DOUBLE_EQ(microseconds(schedule->occupancy), (10.0 + 10.0 + 1.5) / 2.0);
  EXPECT_DOUBLE_EQ(microseconds(schedule->schedule), 11.0);
  EXPECT_TRUE(schedule->schedule.complete);
  EXPECT_EQ(schedule->programs, 1U);
  ASSERT_EQ(schedule->parts.size(), 4U);  // the sum has a part on each processor
  EXPECT_EQ(schedule->parts[0].step, 0U);
  EXPECT_NE(schedule->parts[0].processor, schedule->parts[1].processor);
  EXPECT_DOUBLE_EQ(schedule->parts[2].begin.count(), 10e-6);
}

TEST(CoSchedule, takes_the_path_where_it_is_longer_than_the_work) {
  rewrite::GraphSketch g;
  const model::Graph graph = g.build({g.relu(g.relu(g.input({4})))});
  RowBuilder two;
  RowBuilder one;
  two.add(graph.layers[0].key, "a", 10.0);
  one.add(graph.layers[0].key, "a", 12.0);
  CoSchedule::Scaling scaling(2);
  scaling.add(1, one.rows());
  const ResultSet results(two.rows());
  const auto schedule = co_schedule(graph, results, scaling, ModelPartition::Mode::kPlain);
  EXPECT_DOUBLE_EQ(microseconds(schedule->occupancy), 20.0);
  EXPECT_DOUBLE_EQ(microseconds(schedule->schedule), 20.0);
  EXPECT_EQ(schedule->occupancy.kind, results::BoundKind::kOccupancy);
}

TEST(CoSchedule, says_what_is_missing) {
  const Branches b;
  const ResultSet results(b.two.rows());
  EXPECT_FALSE(co_schedule(b.graph, results, CoSchedule::Scaling(2), ModelPartition::Mode::kPlain));
  EXPECT_THAT(why_no_schedule(CoSchedule::Scaling(1)), HasSubstr("the run has one thread"));
  EXPECT_THAT(why_no_schedule(CoSchedule::Scaling(4)), HasSubstr("with fewer threads than 4"));
  EXPECT_THAT(why_no_schedule(b.scaling()), IsEmpty());
}

TEST(CoSchedule, is_incomplete_where_a_step_of_the_run_has_no_time) {
  Branches b;
  RowBuilder part;
  part.add(b.graph.layers[0].key, "a", 6.0);
  const ResultSet results(part.rows());
  const auto schedule = co_schedule(b.graph, results, b.scaling(), ModelPartition::Mode::kPlain);
  EXPECT_FALSE(schedule->occupancy.complete);
  EXPECT_FALSE(schedule->schedule.complete);
  EXPECT_DOUBLE_EQ(microseconds(schedule->sequential), 6.0);
}

TEST(CoSchedule, says_which_thread_counts_lack_times) {
  const Branches b;
  RowBuilder one;
  one.add(b.graph.layers[0].key, "a", 10.0);
  CoSchedule::Scaling scaling(2);
  scaling.add(1, one.rows());
  const ResultSet results(b.two.rows());
  const auto schedule = co_schedule(b.graph, results, scaling, ModelPartition::Mode::kPlain);
  EXPECT_TRUE(schedule->schedule.complete);
  EXPECT_THAT(schedule->schedule.lacks, Contains("times of some steps with 1 threads"));
}

TEST(CoSchedule, rests_on_the_rows_of_both_runs) {
  const Branches b;
  const ResultSet results(b.two.rows());
  std::vector<results::StoredMeasurement> one = b.one.rows();
  for (results::StoredMeasurement& row : one) {
    row.row += 100;
  }
  CoSchedule::Scaling scaling(2);
  scaling.add(1, one);
  const auto schedule = co_schedule(b.graph, results, scaling, ModelPartition::Mode::kPlain);
  EXPECT_THAT(schedule->occupancy.inputs, ElementsAre(101, 102, 103));
  EXPECT_TRUE(schedule->occupancy.interval.low < schedule->occupancy.seconds);
}

TEST(ThreadScaling, ignores_as_many_threads_as_the_run_has_and_more) {
  const Branches b;
  CoSchedule::Scaling scaling(2);
  scaling.add(2, b.two.rows());
  scaling.add(8, b.two.rows());
  scaling.add(0, b.two.rows());
  scaling.add(1, {});
  EXPECT_TRUE(scaling.empty());
}

TEST(StepNeeds, look_through_layers_outside_of_all_steps) {
  rewrite::GraphSketch g;
  const auto x = g.input({4});
  const model::Graph graph = g.build({g.relu(g.view(g.relu(x), {2, 2}))});
  const std::vector<PartitionStep> steps{{{0}, {}, {}, {}, false}, {{2}, {}, {}, {}, false}};
  EXPECT_THAT(step_needs(graph, steps), ElementsAre(IsEmpty(), ElementsAre(0U)));
}

TEST(ZooCoSchedule, keeps_its_order_on_every_model) {
  for (const zoo::Entry& entry : zoo::entries()) {
    const model::Graph graph = model::read_graph(entry.build(1));
    const ResultSet results(rows_at(graph, 16.0));
    CoSchedule::Scaling scaling(2);
    scaling.add(1, rows_at(graph, 10.0));
    for (const ModelPartition::Mode mode :
         {ModelPartition::Mode::kPlain, ModelPartition::Mode::kFusion}) {
      SCOPED_TRACE(std::string(entry.name) + " " + std::string(to_text(mode)));
      const auto schedule = co_schedule(graph, results, scaling, mode);
      ASSERT_TRUE(schedule);
      const double path = microseconds(schedule->critical_path);
      const double occupancy = microseconds(schedule->occupancy);
      const double sequential = microseconds(schedule->sequential);
      EXPECT_LE(path, occupancy * (1 + 1e-9));
      EXPECT_LE(occupancy, sequential * (1 + 1e-9));
      EXPECT_LE(occupancy, microseconds(schedule->schedule) * (1 + 1e-9));
      EXPECT_TRUE(schedule->schedule.complete);
      Seconds end{};
      for (const CoSchedule::Part& part : schedule->parts) {
        end = std::max(end, part.end);
      }
      EXPECT_NEAR(end.count() * 1e6, microseconds(schedule->schedule), 1e-6 * end.count() * 1e6);
    }
  }
}

TEST(ZooCoSchedule, finds_branches_only_where_there_are_some) {
  const auto gain = [](std::string_view name) {
    const model::Graph graph = model::read_graph(zoo::find(name)->build(1));
    const ResultSet results(rows_at(graph, 16.0));
    CoSchedule::Scaling scaling(2);
    scaling.add(1, rows_at(graph, 10.0));
    const auto schedule = co_schedule(graph, results, scaling, ModelPartition::Mode::kFusion);
    return microseconds(schedule->sequential) / microseconds(schedule->schedule);
  };
  EXPECT_NEAR(gain("vgg16"), 1.0, 1e-9);  // a chain
  EXPECT_GT(gain("inception-v1"), 1.02);  // four branches a module
}

}  // namespace
}  // namespace plumb::analysis
