// SPDX-License-Identifier: Apache-2.0
#include "suites/zoo/zoo.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <map>
#include <set>

#include "tests/unit/zoo/inferred_shapes.hpp"
#include "tests/unit/zoo/zoo_goldens.hpp"

namespace plumb::zoo {
namespace {

using Dims = std::vector<std::int64_t>;

std::int64_t product(const Dims& dims, std::size_t from = 0) {
  std::int64_t elements = 1;
  for (std::size_t i = from; i < dims.size(); ++i) {
    elements *= dims[i];
  }
  return elements;
}

std::int64_t macs_of(const onnx::NodeProto& node, const InferredShapes& shapes) {
  const std::int64_t outputs = product(shapes.of(node.output(0)));
  if (node.op_type() == "Conv") {
    return outputs * product(shapes.of(node.input(1)), 1);
  }
  if (node.op_type() == "ConvTranspose") {
    return product(shapes.of(node.input(0))) * product(shapes.of(node.input(1)), 1);
  }
  if (node.op_type() == "Gemm" || node.op_type() == "MatMul") {
    return outputs * shapes.of(node.input(0)).back();
  }
  return 0;
}

std::string text_of(const std::map<std::string, int>& ops) {
  std::string text;
  for (const auto& [op, count] : ops) {
    text += (text.empty() ? "" : " ") + op + " " + std::to_string(count);
  }
  return text;
}

class ZooModel : public testing::TestWithParam<Golden> {};

TEST_P(ZooModel, equals_the_original_export) {
  const Golden& golden = GetParam();
  const Entry* entry = find(golden.name);
  ASSERT_NE(entry, nullptr);
  onnx::ModelProto model = entry->build(1);
  EXPECT_EQ(model.opset_import(0).version(), golden.opset);
  EXPECT_EQ(model.graph().name(), golden.name);
  EXPECT_EQ(model.graph().node_size(), golden.nodes);

  const InferredShapes shapes(model);
  std::map<std::string, int> ops;
  std::set<std::string> unique;
  std::int64_t macs = 0;
  for (const auto& node : model.graph().node()) {
    ++ops[node.op_type()];
    macs += macs_of(node, shapes);
    std::string layer = benanza_type(node.op_type());
    for (const auto& input : node.input()) {
      layer += " " + testing::PrintToString(shapes.of(input));
    }
    unique.insert(layer + " " + testing::PrintToString(shapes.of(node.output(0))));
  }
  EXPECT_EQ(text_of(ops), golden.ops);
  EXPECT_EQ(unique.size(), golden.unique);
  EXPECT_EQ(macs, golden.macs);

  std::int64_t parameters = 0;
  for (const auto& weight : model.graph().initializer()) {
    if (weight.data_type() == onnx::TensorProto::FLOAT) {
      parameters += product(shapes.of(weight.name()));
    }
  }
  EXPECT_EQ(parameters, golden.parameters);
  EXPECT_EQ(shapes.of(model.graph().input(0).name()), golden.input);
  EXPECT_EQ(shapes.of(model.graph().output(0).name()), golden.output);
}

TEST_P(ZooModel, scales_with_the_batch) {
  onnx::ModelProto model = find(GetParam().name)->build(3);
  const InferredShapes shapes(model);
  std::int64_t macs = 0;
  for (const auto& node : model.graph().node()) {
    macs += macs_of(node, shapes);
  }
  EXPECT_EQ(macs, 3 * GetParam().macs);
  EXPECT_EQ(shapes.of(model.graph().output(0).name())[0], 3);
}

TEST_P(ZooModel, names_everything_once) {
  const onnx::ModelProto model = find(GetParam().name)->build(1);
  std::set<std::string> nodes;
  std::set<std::string> tensors;
  for (const auto& weight : model.graph().initializer()) {
    EXPECT_TRUE(tensors.insert(weight.name()).second) << weight.name();
  }
  for (const auto& input : model.graph().input()) {
    EXPECT_TRUE(tensors.insert(input.name()).second) << input.name();
  }
  for (const auto& node : model.graph().node()) {
    EXPECT_TRUE(nodes.insert(node.name()).second) << node.name();
    for (const auto& input : node.input()) {
      EXPECT_TRUE(input.empty() || tensors.contains(input))
          << node.name() << " reads " << input << " too early";
    }
    for (const auto& output : node.output()) {
      EXPECT_TRUE(tensors.insert(output).second) << output;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, ZooModel, testing::ValuesIn(goldens()), [](const testing::TestParamInfo<Golden>& row) {
      std::string name = row.param.name;
      std::erase_if(name, [](char letter) { return letter == '-' || letter == '.'; });
      return name;
    });

TEST(Zoo, has_a_golden_row_for_every_model) {
  ASSERT_EQ(entries().size(), goldens().size());
  for (std::size_t i = 0; i < entries().size(); ++i) {
    EXPECT_EQ(entries()[i].name, std::string_view(goldens()[i].name)) << "sort both by name";
    EXPECT_FALSE(entries()[i].task.empty());
    EXPECT_FALSE(entries()[i].source.empty());
  }
}

TEST(Zoo, says_what_of_mlperf_a_model_is) {
  for (const char* name : {"3d-unet",
                           "bert-large",
                           "dlrm-dcnv2",
                           "llama-3.1-8b-decode",
                           "llama-3.1-8b-prefill",
                           "llama-3.1-8b-training",
                           "resnet50-v1.5",
                           "retinanet-resnext50"}) {
    EXPECT_THAT(find(name)->rounds, testing::HasSubstr("v5.")) << name;
    EXPECT_FALSE(find(name)->deviations.empty()) << name;
  }
  EXPECT_TRUE(find("resnet50-v1")->rounds.empty());
}

TEST(Zoo, finds_models_by_their_exact_name) {
  EXPECT_EQ(find("resnet50-v1")->name, "resnet50-v1");
  EXPECT_EQ(find("ResNet50-v1"), nullptr);
  EXPECT_EQ(find(""), nullptr);
}

TEST(Zoo, names_the_nearest_model) {
  EXPECT_EQ(nearest_name("resnet-50-v1"), "resnet50-v1");
  EXPECT_EQ(nearest_name("squeezenet"), "squeezenet1.1");
  EXPECT_EQ(nearest_name("bert_base"), "bert-base");
}

TEST(Zoo, has_the_quirks_of_its_exporters) {
  const auto attribute = [](const onnx::ModelProto& model, const char* node, const char* name) {
    for (const auto& candidate : model.graph().node()) {
      for (const auto& entry : candidate.attribute()) {
        if (candidate.name() == node && entry.name() == name) {
          return Dims(entry.ints().begin(), entry.ints().end());
        }
      }
    }
    return Dims{};
  };
  // MXNet strides on the first 1×1 convolution of a v1 bottleneck, on the 3×3 of a v2 one.
  const onnx::ModelProto v1 = find("resnet50-v1")->build(1);
  EXPECT_EQ(attribute(v1, "stage2_conv0", "strides"), (Dims{2, 2}));
  EXPECT_EQ(attribute(v1, "stage2_conv1", "strides"), (Dims{1, 1}));
  const onnx::ModelProto v2 = find("resnet50-v2")->build(1);
  EXPECT_EQ(attribute(v2, "stage2_conv0", "strides"), (Dims{1, 1}));
  EXPECT_EQ(attribute(v2, "stage2_conv1", "strides"), (Dims{2, 2}));
  // Biases: 32 of 53 convolutions of v1, none of v2.
  const auto biased = [](const onnx::ModelProto& model) {
    int count = 0;
    for (const auto& node : model.graph().node()) {
      count += node.op_type() == "Conv" && node.input_size() == 3 ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(biased(v1), 32);
  EXPECT_EQ(biased(v2), 0);
  EXPECT_EQ(biased(find("resnet101-v1")->build(1)), 66);
  EXPECT_EQ(biased(find("resnet152-v1")->build(1)), 100);
  EXPECT_EQ(biased(find("densenet121")->build(1)), 1);
  EXPECT_EQ(biased(find("duc")->build(1)), 4);
  EXPECT_EQ(biased(find("shufflenet")->build(1)), 1);
  EXPECT_EQ(biased(find("tiny-yolo-v2")->build(1)), 1);
  for (const char* name : {"arcface", "emotion-ferplus", "inception-v2"}) {
    EXPECT_EQ(biased(find(name)->build(1)), 0) << name;
  }
  // Groups: 32 of 4 and 16 depthwise ones in ShuffleNet.
  const auto counts = [](const onnx::ModelProto& model, const char* name) {
    std::map<std::int64_t, int> found;
    for (const auto& node : model.graph().node()) {
      for (const auto& entry : node.attribute()) {
        if (entry.name() == name) {
          ++found[entry.ints_size() > 0 ? entry.ints(0) : entry.i()];
        }
      }
    }
    return found;
  };
  EXPECT_THAT(counts(find("shufflenet")->build(1), "group"),
              testing::ElementsAre(testing::Pair(1, 1),
                                   testing::Pair(4, 32),
                                   testing::Pair(112, 1),
                                   testing::Pair(136, 4),
                                   testing::Pair(272, 8),
                                   testing::Pair(544, 3)));
  // Dilations: DUC's fourth stage turns, its fifth grows, its heads look further.
  EXPECT_THAT(counts(find("duc")->build(1), "dilations"),
              testing::ElementsAre(testing::Pair(1, 85),
                                   testing::Pair(2, 7),
                                   testing::Pair(5, 7),
                                   testing::Pair(6, 1),
                                   testing::Pair(9, 6),
                                   testing::Pair(12, 1),
                                   testing::Pair(17, 1),
                                   testing::Pair(18, 1),
                                   testing::Pair(24, 1)));
  // Asymmetric pads: AlexNet's third pool, Inception-v1's average pool.
  EXPECT_EQ(attribute(find("bvlc-alexnet")->build(1), "maxpool2", "pads"), (Dims{0, 0, 1, 1}));
  EXPECT_EQ(attribute(find("inception-v1")->build(1), "averagepool0", "pads"), (Dims{0, 0, 1, 1}));
}

}  // namespace
}  // namespace plumb::zoo
