// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "harness/base/error.hpp"
#include "harness/model/onnx/onnx_reader.hpp"
#include "suites/zoo/zoo.hpp"

namespace plumb::zoo {
namespace {

std::string error_of(std::string_view model,
                     std::int64_t batch,
                     const std::map<std::string, std::int64_t>& asked) {
  try {
    (void)find(model)->build(batch, asked);
  } catch (const Error& error) {
    return error.kind() == Error::Kind::kUser ? error.what() : "not the user's";
  }
  return "no error";
}

TEST(Axes, stand_at_their_defaults_unless_asked) {
  const Entry& bert = *find("bert-base");
  EXPECT_EQ(bert.sizes(2)["sequence"], 128);
  EXPECT_EQ(bert.sizes(2, {{"sequence", 384}})["sequence"], 384);
  EXPECT_EQ(bert.sizes(2).batch, 2);
  EXPECT_TRUE(find("vgg16")->sizes(1).axes.empty());
}

TEST(Axes, name_the_nearest_one_they_know) {
  EXPECT_EQ(error_of("bert-base", 1, {{"sequnce", 384}}),
            "model 'bert-base' has no axis 'sequnce'; did you mean 'sequence'?");
  EXPECT_EQ(error_of("vgg16", 1, {{"image", 256}}),
            "model 'vgg16' has no axis 'image': only its batch varies");
}

TEST(Axes, refuse_extents_that_make_no_model) {
  EXPECT_EQ(error_of("resnet50-v1", 1, {{"image", 31}}),
            "'image' of model 'resnet50-v1' is 31; it must be from 32 to 4096");
  EXPECT_EQ(error_of("bert-base", 1, {{"sequence", 1LL << 40}}),
            "'sequence' of model 'bert-base' is 1099511627776; it must be from 1 to 65536");
  EXPECT_EQ(error_of("lenet", 0, {}),
            "'batch' of model 'lenet' is 0; it must be from 1 to 1000000");
}

TEST(Axes, change_the_arithmetic_as_the_architecture_says) {
  const auto macs = [](std::string_view model, const std::map<std::string, std::int64_t>& asked) {
    return model::totals(model::read_graph(find(model)->build(1, asked))).macs;
  };
  // BERT: 12 · (12·s·h² + 2·s²·h) and the pooler's h².
  for (const std::int64_t s : {1, 384, 1024}) {
    EXPECT_EQ(macs("bert-base", {{"sequence", s}}),
              12 * (12 * s * 768 * 768 + 2 * s * s * 768) + 768 * 768);
  }
  // Twice the side is four times the convolutions of ResNet-50; its classifier stays.
  const std::int64_t classifier = 2048 * 1000;
  EXPECT_EQ(macs("resnet50-v1", {{"image", 448}}) - classifier,
            4 * (macs("resnet50-v1", {}) - classifier));
}

/// Checks at both ends of every axis that what a builder writes is read completely.
TEST(Axes, give_whole_models_at_every_extent) {
  for (const Entry& entry : entries()) {
    for (const Entry::Sizes::Axis& axis : entry.axes) {
      SCOPED_TRACE(testing::Message() << entry.name << ", " << axis.name);
      EXPECT_GE(axis.least, 1);
      for (const std::int64_t extent : {axis.least, axis.standard + axis.step, axis.most}) {
        SCOPED_TRACE(extent);
        const model::Graph graph =
            model::read_graph(entry.build(1, {{std::string(axis.name), extent}}));
        for (const model::Layer& layer : graph.layers) {
          EXPECT_NE(layer.role, model::Layer::Role::kUnsupported)
              << layer.name << ": " << layer.reason;
        }
      }
    }
  }
}

}  // namespace
}  // namespace plumb::zoo
