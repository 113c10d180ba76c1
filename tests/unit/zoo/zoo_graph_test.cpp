// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "harness/model/onnx/onnx_reader.hpp"
#include "harness/model/onnx/weights.hpp"
#include "suites/zoo/zoo.hpp"
#include "tests/unit/zoo/zoo_goldens.hpp"

namespace plumb::zoo {
namespace {

model::Graph graph_of_zoo(std::string_view name, const model::ReadOptions& options = {}) {
  return model::read_graph(find(name)->build(1), options);
}

/// Checks that what the builders write is what the model processor reads.
TEST(ZooGraph, is_read_completely) {
  for (const Golden& golden : goldens()) {
    SCOPED_TRACE(golden.name);
    const model::Graph graph = graph_of_zoo(golden.name);
    EXPECT_EQ(graph.layers.size(), static_cast<std::size_t>(golden.nodes));
    EXPECT_EQ(model::totals(graph).macs, golden.macs);
    for (const model::Layer& layer : graph.layers) {
      EXPECT_NE(layer.role, model::Layer::Role::kUnsupported) << layer.name << ": " << layer.reason;
    }
  }
}

TEST(ZooGraph, can_be_bound_to_another_batch) {
  for (const Golden& golden : goldens()) {
    SCOPED_TRACE(golden.name);
    const model::Graph graph = graph_of_zoo(golden.name, {.batch = 4, .dims = {}, .rebatch = true});
    EXPECT_EQ(model::totals(graph).macs, 4 * golden.macs);
    EXPECT_EQ(graph.values[graph.outputs[0]].type.dims[0], 4);
  }
}

TEST(ZooGraph, folds_what_acts_on_weights_only) {
  const auto folded = [](std::string_view name) {
    std::int64_t count = 0;
    for (const model::Layer& layer : graph_of_zoo(name).layers) {
      count += layer.role == model::Layer::Role::kFolded ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(folded("densenet121"), 242);  // the Unsqueezes of the Scale layers
  EXPECT_EQ(folded("inception-v1"), 1);   // the classifier's weight is reshaped in the graph
  EXPECT_EQ(folded("inception-v2"), 138);
  EXPECT_EQ(folded("arcface"), 50);  // the slopes of PRelu
  EXPECT_EQ(folded("lenet"), 1);
  EXPECT_EQ(folded("emotion-ferplus"), 1);
  EXPECT_EQ(folded("bert-base"), 1);  // the position embedding of constant positions
  EXPECT_EQ(folded("resnet50-v1"), 0);
}

TEST(ZooGraph, keeps_its_keys_when_weights_are_filled) {
  onnx::ModelProto model = find("squeezenet1.1")->build(1);
  const model::Graph free = model::read_graph(model);
  model::fill_weights(model, 1);
  const model::Graph filled = model::read_graph(model);
  ASSERT_EQ(filled.layers.size(), free.layers.size());
  for (std::size_t i = 0; i < free.layers.size(); ++i) {
    EXPECT_EQ(filled.layers[i].key.text, free.layers[i].key.text);
  }
  EXPECT_EQ(filled.parameters, free.parameters);
}

}  // namespace
}  // namespace plumb::zoo
