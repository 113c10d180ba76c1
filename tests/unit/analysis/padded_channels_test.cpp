// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "harness/analysis/whatif/what_if.hpp"
#include "tests/unit/analysis/row_builder.hpp"
#include "tests/unit/analysis/what_if_questions.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::analysis {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Two convolutions of which the second has 24 filters, and its form with 32 of them.
class PaddedChannels : public testing::Test {
 protected:
  static model::Graph with_filters(std::int64_t filters) {
    rewrite::GraphSketch g;
    return g.build({g.conv(g.conv(g.input({1, 32, 8, 8}), 32, 3), filters, 3)});
  }

  PaddedChannels() {
    rows_.add(graph_.layers[0].key, kVariant, 40.0);
    rows_.add(graph_.layers[1].key, kVariant, 60.0);
  }

  [[nodiscard]] WhatIfResult answer(const RowBuilder& padded, std::string training = {}) const {
    const ModelInstance instance{
        .model = "handmade", .dtype = "f32", .training = std::move(training)};
    const ResultSet results(rows_.rows());
    const ResultSet of_padded(padded.rows());
    WhatIfInput input(instance, graph_, results);
    input.padded = &of_padded;
    return padded_channels_what_if(input);
  }

  static constexpr const char* kVariant = "impl=brgconv:avx512_core;layout=any";
  model::Graph graph_ = with_filters(24);
  model::LayerKey whole_ = with_filters(32).layers[1].key;
  RowBuilder rows_;
};

TEST_F(PaddedChannels, saves_what_whole_blocks_are_faster) {
  RowBuilder padded;
  padded.add({"another layer"}, kVariant, 1.0);
  padded.add({"another layer"}, kVariant, 1.0);
  padded.add(whole_, kVariant, 50.0);
  const WhatIfResult result = answer(padded);
  EXPECT_EQ(result.why_not, "");
  EXPECT_NEAR(microseconds(*result.baseline), 100.0, 1e-9);
  EXPECT_NEAR(microseconds(*result.predicted), 90.0, 1e-9);
  EXPECT_NEAR(microseconds(result.predicted_interval.high), 90.0 + std::hypot(0.4, 0.5), 1e-9);
  ASSERT_THAT(result.layers, SizeIs(1));
  EXPECT_EQ(result.layers[0].layer, "conv1");
  EXPECT_EQ(result.layers[0].key, whole_);
  EXPECT_EQ(result.layers[0].change, "whole blocks of 16");
  EXPECT_NEAR(microseconds(result.layers[0].before), 60.0, 1e-9);
  EXPECT_THAT(result.prerequisites, SizeIs(2));
  EXPECT_THAT(result.prerequisites[0], HasSubstr("multiples of 16"));
}

TEST_F(PaddedChannels, tells_losses_too) {
  RowBuilder padded;
  padded.add(whole_, kVariant, 65.0);
  EXPECT_NEAR(microseconds(*predicted_saving(answer(padded))), -5.0, 1e-9);
}

TEST_F(PaddedChannels, say_which_padded_layer_has_no_time) {
  RowBuilder padded;
  EXPECT_EQ(answer(padded).why_not,
            "no time with padded channels for 1 of 1 steps, first conv1: plumb whatif --measure "
            "measures it");
  EXPECT_TRUE(answer(padded).applies);
  EXPECT_THAT(answer(padded).layers, IsEmpty());
  padded.fail(whole_, results::Outcome::Kind::kUnsupported, "too wide");
  EXPECT_THAT(answer(padded).why_not, HasSubstr("first conv1: unsupported: too wide"));
}

TEST_F(PaddedChannels, need_a_time_of_each_step) {
  RowBuilder padded;
  padded.add(whole_, kVariant, 50.0);
  RowBuilder half;
  half.add(graph_.layers[1].key, kVariant, 60.0);
  rows_ = half;
  EXPECT_THAT(answer(padded).why_not, HasSubstr("no f32 time for 1 of 2 layers, first conv0"));
  EXPECT_FALSE(predicted_saving(answer(padded)));
}

TEST_F(PaddedChannels, of_a_device_are_not_told_by_its_variants) {
  RowBuilder products;
  for (const model::Layer& layer : graph_.layers) {
    products.add(layer.key, "impl=cudnn;layout=NHWC;engine=41;TILE_SIZE=5", 40.0);
  }
  const ModelInstance instance{.model = "handmade", .dtype = "f32"};
  const ResultSet results(products.rows());
  WhatIfInput input(instance, graph_, results);
  input.on_device = true;
  const WhatIfResult result = padded_channels_what_if(input);
  EXPECT_FALSE(result.applies);
  EXPECT_THAT(result.why_not, HasSubstr("variants of a GPU do not say"));
  EXPECT_THAT(result.why_not, HasSubstr("another variant, which best_variant answers"));
}

TEST_F(PaddedChannels, do_not_apply_to_whole_blocks_unknown_ones_and_training) {
  const RowBuilder none;
  EXPECT_THAT(answer(none, "sgd").why_not, HasSubstr("gradients are not padded"));
  EXPECT_FALSE(answer(none, "sgd").applies);
  RowBuilder unnamed;
  unnamed.add(graph_.layers[0].key, "gemm:jit", 40.0);
  unnamed.add(graph_.layers[1].key, "gemm:jit", 60.0);
  rows_ = unnamed;
  EXPECT_FALSE(answer(none).applies);
  EXPECT_THAT(answer(none).why_not, HasSubstr("by the names of the variants; another tile is"));
  graph_ = with_filters(32);
  RowBuilder full;
  full.add(graph_.layers[0].key, kVariant, 40.0);
  full.add(graph_.layers[1].key, kVariant, 60.0);
  rows_ = full;
  EXPECT_FALSE(answer(none).applies);
}

}  // namespace
}  // namespace plumb::analysis
