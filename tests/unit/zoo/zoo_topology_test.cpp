// SPDX-License-Identifier: Apache-2.0
//
// Compares the thirty vision models with the original exports, node for node: type, order, every
// shape, and who reads whom.
#include <gtest/gtest.h>

#include <set>

#include "harness/model/onnx/onnx_reader.hpp"
#include "suites/zoo/zoo.hpp"
#include "tests/unit/zoo/inferred_shapes.hpp"
#include "tests/unit/zoo/published_topology.hpp"

namespace plumb::zoo {
namespace {

using Dims = std::vector<std::int64_t>;

const PublishedTopology& published() {
  static const PublishedTopology topology = read_topology(PLUMB_TEST_TOPOLOGY);
  return topology;
}

std::string text_of(const Dims& dims) {
  std::string text;
  for (const std::int64_t extent : dims) {
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  }
  return text.empty() ? "-" : text;
}

/// Writes the nodes of a model in the published form.
class Topology {
 public:
  explicit Topology(onnx::ModelProto model) : model_(std::move(model)), shapes_(model_) {
    for (const auto& weight : model_.graph().initializer()) {
      if (weight.data_type() == onnx::TensorProto::INT64) {
        integers_[weight.name()] = {weight.int64_data().begin(), weight.int64_data().end()};
      }
    }
    for (int i = 0; i < model_.graph().node_size(); ++i) {
      for (const auto& output : model_.graph().node(i).output()) {
        makers_[output] = static_cast<std::size_t>(i);
      }
    }
  }

  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(model_.graph().node_size());
  }

  [[nodiscard]] std::string layer(std::size_t index) const {
    const auto& node = model_.graph().node(static_cast<int>(index));
    std::string text = benanza_type(node.op_type());
    for (const auto& input : node.input()) {
      text += " " + text_of(operand(node, input));
    }
    return text + " > " + text_of(shapes_.of(node.output(0)));
  }

  [[nodiscard]] std::vector<std::size_t> producers(std::size_t index) const {
    std::vector<std::size_t> distances;
    for (const auto& input : model_.graph().node(static_cast<int>(index)).input()) {
      const auto maker = makers_.find(input);
      distances.push_back(maker == makers_.end() ? 0 : index - maker->second);
    }
    while (!distances.empty() && distances.back() == 0) {
      distances.pop_back();
    }
    return distances;
  }

 private:
  /// A Reshape's target stands for its shape; where the exports write a batch of 1, our models
  /// leave the first extent open.
  [[nodiscard]] Dims operand(const onnx::NodeProto& node, const std::string& input) const {
    if (node.op_type() != "Reshape" || input != node.input(1)) {
      return shapes_.of(input);
    }
    Dims target = integers_.at(input);
    if (target.front() == -1) {
      target.front() = shapes_.of(node.output(0)).front();
    }
    return target;
  }

  onnx::ModelProto model_;
  InferredShapes shapes_;
  std::map<std::string, Dims> integers_;
  std::map<std::string, std::size_t> makers_;
};

void compare(const std::string& name, const std::vector<PublishedNode>& nodes) {
  const Entry* entry = find(name);
  ASSERT_NE(entry, nullptr);
  const Topology ours(entry->build(1));
  ASSERT_EQ(ours.size(), nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    ASSERT_EQ(ours.layer(i), published().layers.at(nodes[i].layer).corrected) << "node " << i;
    ASSERT_EQ(ours.producers(i), nodes[i].producers) << "node " << i << ": " << ours.layer(i);
  }
}

TEST(ZooTopology, equals_the_thirty_exports_node_for_node) {
  ASSERT_EQ(published().models.size(), 30U);
  for (const auto& [name, nodes] : published().models) {
    SCOPED_TRACE(name);
    compare(name, nodes);
  }
}

TEST(ZooTopology, counts_unique_layers_as_published) {
  // Keyed as the paper did, by type and the shapes of all inputs and the output.
  std::set<std::string> as_published;
  std::set<std::string> corrected;
  std::size_t nodes = 0;
  for (const auto& [name, model] : published().models) {
    nodes += model.size();
    for (const PublishedNode& node : model) {
      as_published.insert(published().layers.at(node.layer).text);
      corrected.insert(published().layers.at(node.layer).corrected);
    }
  }
  EXPECT_EQ(nodes, 5746U);  // and eight masks of Dropouts, which the paper counts as layers
  EXPECT_EQ(as_published.size(), 1030U);
  EXPECT_EQ(corrected.size(), 1027U);  // three differ by a shape that was inferred wrongly
}

TEST(ZooTopology, counts_unique_layers_by_their_keys) {
  // Attributes tell more layers apart, what is folded or moves nothing is none, and a Reshape's
  // name is no difference.
  std::set<std::string> keys;
  std::map<model::Layer::Role, std::size_t> layers;
  for (const auto& [name, model] : published().models) {
    for (const model::Layer& layer : model::read_graph(find(name)->build(1)).layers) {
      ++layers[layer.role];
      if (layer.role == model::Layer::Role::kCompute) {
        keys.insert(layer.key.text);
      }
    }
  }
  EXPECT_EQ(layers[model::Layer::Role::kCompute], 5220U);
  EXPECT_EQ(layers[model::Layer::Role::kFolded],
            433U);  // Caffe's Scale, PRelu's slopes, three classifiers
  EXPECT_EQ(layers[model::Layer::Role::kView], 93U);
  EXPECT_EQ(keys.size(), 1059U);
}

}  // namespace
}  // namespace plumb::zoo
