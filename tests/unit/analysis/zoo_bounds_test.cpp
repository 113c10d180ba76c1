// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <set>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/whatif/what_if.hpp"
#include "harness/model/onnx/onnx_reader.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "suites/zoo/zoo.hpp"
#include "tests/unit/analysis/row_builder.hpp"

namespace plumb::analysis {
namespace {

/// Makes a row for every key of a model, plain and fused: 1 µs, and its operations and bytes at 10
/// G/s.
ResultSet synthetic_rows(const model::Graph& graph) {
  RowBuilder b;
  std::set<model::LayerKey> seen;
  const auto add = [&](const model::LayerKey& key, const model::LayerCost& cost) {
    if (seen.insert(key).second) {
      const Bytes bytes = cost.input_bytes + cost.weight_bytes + cost.output_bytes;
      const double time = 1.0 + (cost.flops.value + static_cast<double>(bytes.value)) * 1e-4;
      b.choice(key, "a", time);
      b.choice(key, "a", time * 1.1).cache = results::CacheMode::kWeights;
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
  results::Calibration calibration;
  calibration.peak_f32 = FlopsPerSecond{1e12};
  calibration.memory_bandwidth = BytesPerSecond{1e12};
  return ResultSet(b.rows(), calibration);
}

double seconds(const ModelBounds& model, results::BoundKind kind, std::string_view mode) {
  for (const Bound& bound : model.bounds) {
    if (bound.kind == kind && bound.mode == mode) {
      return bound.seconds.count();
    }
  }
  return -1.0;
}

TEST(ZooBounds, keep_their_order_on_every_model) {
  for (const zoo::Entry& entry : zoo::entries()) {
    SCOPED_TRACE(entry.name);
    const model::Graph graph = model::read_graph(entry.build(1));
    const ModelInstance instance{std::string(entry.name), 1, "f32"};
    const ModelBounds model = compute_bounds(instance, graph, synthetic_rows(graph));
    EXPECT_THAT(model.findings, testing::IsEmpty());
    EXPECT_EQ(model.measured_layers, model.total_layers);
    for (const Bound& bound : model.bounds) {
      EXPECT_TRUE(bound.complete) << to_text(bound.kind) << " " << bound.mode;
      EXPECT_GT(bound.seconds.count(), 0.0) << to_text(bound.kind) << " " << bound.mode;
    }
    const double fused = seconds(model, results::BoundKind::kLibrary, "fusion");
    const double plain = seconds(model, results::BoundKind::kLibrary, "plain");
    if (entry.name == "3d-unet") {  // its convolutions end in InstanceNormalization: none is fused
      EXPECT_EQ(fused, plain);
    } else {
      EXPECT_LT(fused, plain);
    }
    EXPECT_LE(seconds(model, results::BoundKind::kLibraryParallel, "fusion"), fused * (1 + 1e-12));
    EXPECT_LE(seconds(model, results::BoundKind::kLibraryParallel, "fusion"),
              seconds(model, results::BoundKind::kLibraryParallel, "plain") * (1 + 1e-12));
    EXPECT_LE(seconds(model, results::BoundKind::kLibraryParallel, "plain"), plain * (1 + 1e-12));
    EXPECT_LE(seconds(model, results::BoundKind::kHardware, "any"), fused);
    EXPECT_GT(seconds(model, results::BoundKind::kLayerSum, "fusion"), fused);

    std::vector<int> covered(graph.layers.size(), 0);
    for (const PartitionStep& step : model.cover) {
      for (const model::LayerId layer : step.layers) {
        ++covered[layer];
      }
    }
    for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
      EXPECT_EQ(covered[id], graph.layers[id].role == model::Layer::Role::kCompute ? 1 : 0);
    }
  }
}

TEST(ZooWhatIfs, have_a_prediction_or_say_why_not_on_every_model) {
  const CoSchedule::Scaling one_thread(1);
  for (const zoo::Entry& entry : zoo::entries()) {
    const model::Graph graph = model::read_graph(entry.build(1));
    const ModelInstance instance{std::string(entry.name), 1, "f32"};
    const ResultSet results = synthetic_rows(graph);
    WhatIfInput input{instance, graph, results, &one_thread};
    input.on_device = false;
    std::set<std::string> not_for_this_run;
    for (const WhatIfResult& result : compute_what_ifs(input).whatifs) {
      EXPECT_NE(predicted_saving(result).has_value(), !result.why_not.empty())
          << entry.name << " " << result.name;
      if (!result.applies) {
        EXPECT_THAT(result.why_not, testing::Not(testing::IsEmpty()))
            << entry.name << " " << result.name;
        not_for_this_run.insert(result.name);
      }
    }
    EXPECT_THAT(not_for_this_run,
                testing::IsSupersetOf(
                    {"all", "co_schedule", "framework", "graph_capture", "parallel_branches"}))
        << entry.name;
  }
}

TEST(ZooBounds, find_parallel_branches_only_where_there_are_some) {
  const auto ratio = [](std::string_view name) {
    const model::Graph graph = model::read_graph(zoo::find(name)->build(1));
    const ModelBounds model =
        compute_bounds({std::string(name), 1, "f32"}, graph, synthetic_rows(graph));
    return seconds(model, results::BoundKind::kLibraryParallel, "plain") /
           seconds(model, results::BoundKind::kLibrary, "plain");
  };
  EXPECT_NEAR(ratio("vgg16"), 1.0, 1e-12);  // a chain
  EXPECT_LT(ratio("inception-v1"), 0.9);    // four branches a module
}

TEST(ZooBounds, cover_resnet50_with_one_step_a_convolution) {
  const model::Graph graph = model::read_graph(zoo::find("resnet50-v1")->build(1));
  const ModelBounds model = compute_bounds({"resnet50-v1", 1, "f32"}, graph, synthetic_rows(graph));
  const auto steps =
      std::count_if(model.cover.begin(), model.cover.end(), [](const PartitionStep& step) {
        return step.key.text.starts_with("v1:conv;");
      });
  EXPECT_EQ(steps, 53);
  // Max pool, global pool and the classifier stay alone; all else is part of a convolution.
  EXPECT_EQ(model.cover.size(), 56U);
}

}  // namespace
}  // namespace plumb::analysis
