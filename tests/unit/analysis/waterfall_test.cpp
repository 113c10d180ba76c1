// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/analysis/whatif/what_if.hpp"
#include "tests/unit/analysis/row_builder.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::analysis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const ModelInstance kInstance{"handmade", 1, "f32"};

Bound bound(results::BoundKind kind, const std::string& mode, double microseconds) {
  Bound result;
  result.kind = kind;
  result.mode = mode;
  result.seconds = Seconds(microseconds * 1e-6);
  result.complete = true;
  return result;
}

/// One layer, of which the library's choice takes 9 µs, in a model that takes `now` end to end.
std::vector<std::string> names_of(double now, std::vector<Bound> bounds) {
  rewrite::GraphSketch g;
  const model::Graph graph = g.build({g.relu(g.input({4}))});
  RowBuilder b;
  b.choice(graph.layers[0].key, "a", 9.0);
  const ResultSet results(b.rows());
  ModelBounds model;
  model.bounds = std::move(bounds);
  if (now > 0.0) {
    ExecutionTime time;
    time.mode = "plain";
    time.samples = 9;
    time.median = Seconds(now * 1e-6);
    model.executions.push_back(time);
  }
  std::vector<std::string> names;
  Seconds above = Seconds::max();
  for (const ModelWhatIfs::WaterfallLevel& level :
       compute_waterfall({kInstance, graph, results}, model)) {
    EXPECT_LT(level.time.median, above);
    above = level.time.median;
    names.push_back(level.name);
  }
  return names;
}

TEST(Waterfall, leads_from_now_to_the_hardware) {
  EXPECT_THAT(names_of(10.0,
                       {bound(results::BoundKind::kLibrary, "plain", 8.0),
                        bound(results::BoundKind::kLibrary, "fusion", 6.0),
                        bound(results::BoundKind::kOccupancy, "fusion", 5.0),
                        bound(results::BoundKind::kHardware, "any", 2.0)}),
              ElementsAre("now", "layers", "fastest variants", "fusion", "occupancy", "hardware"));
}

TEST(Waterfall, leaves_out_what_is_not_below_the_level_before) {
  EXPECT_THAT(names_of(8.5,
                       {bound(results::BoundKind::kLibrary, "plain", 8.0),
                        bound(results::BoundKind::kLibrary, "fusion", 8.0)}),
              ElementsAre("now", "fastest variants"));
}

TEST(Waterfall, leaves_out_what_is_not_complete) {
  Bound fusion = bound(results::BoundKind::kLibrary, "fusion", 6.0);
  fusion.complete = false;
  EXPECT_THAT(names_of(10.0, {fusion, bound(results::BoundKind::kHardware, "any", 2.0)}),
              ElementsAre("now", "layers", "hardware"));
}

TEST(Waterfall, needs_a_time_end_to_end) {
  EXPECT_THAT(names_of(0.0, {bound(results::BoundKind::kHardware, "any", 2.0)}), IsEmpty());
}

}  // namespace
}  // namespace plumb::analysis
