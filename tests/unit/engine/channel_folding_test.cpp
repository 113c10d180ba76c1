// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/error.hpp"
#include "runners/engine/exec/model_values.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb::engine {
namespace {

using testing::ElementsAre;
using Dims = std::vector<std::int64_t>;

/// Convolution with two channels of two weights, and what follows it.
class ChannelFolding2 : public testing::Test {
 protected:
  ChannelFolding2() {
    folding_.weights = constant({2, 2}, {1, 2, 3, 4});
    folding_.folded_weights = value({2, 2});
    folding_.folded_bias = value({2});
  }

  model::ValueId value(const Dims& dims) {
    graph_.values.push_back({"", {model::DataType::kF32, dims, true, {}}, {}, {}});
    return graph_.values.size() - 1;
  }

  model::ValueId constant(const Dims& dims, const std::vector<double>& numbers) {
    const model::ValueId id = value(dims);
    constants_[id] = tensor_from(graph_.values[id].type, numbers);
    return id;
  }

  /// Adds y = fn(x, c), or fn(c, x) if `operand` is 0.
  void binary(const char* fn, std::size_t operand, model::ValueId c) {
    model::Layer layer;
    layer.spec.op = "binary";
    layer.spec.attributes = {{"fn", std::string(fn)}};
    layer.spec.inputs = {model::TensorType{model::DataType::kF32, {1, 2, 3, 3}, false, {}}, {}};
    layer.inputs = {model::ValueId{0}, {}};
    layer.spec.inputs[1] = layer.spec.inputs[0];
    layer.spec.inputs[operand] = graph_.values[c].type;
    layer.inputs[operand] = c;
    folding_.layers.push_back(layer);
  }

  std::pair<std::vector<double>, std::vector<double>> folded() {
    std::map<model::ValueId, model::Tensor> result;
    EXPECT_TRUE(fold_channels(folding_, graph_, constants_, result));
    return {read_numbers(result.at(folding_.folded_weights)),
            read_numbers(result.at(folding_.folded_bias))};
  }

  model::Graph graph_;
  std::map<model::ValueId, model::Tensor> constants_;
  rewrite::FusedGraph::Folding folding_;
};

TEST_F(ChannelFolding2, folds_batch_norm_behind_a_bias) {
  folding_.bias = constant({2}, {10, 20});
  model::Layer norm;
  norm.spec.op = "batch_norm";
  norm.spec.attributes = {{"epsilon", 1.0}};
  norm.inputs = {model::ValueId{0},
                 constant({2}, {4, 6}),   // scale
                 constant({2}, {1, 2}),   // bias
                 constant({2}, {8, 21}),  // mean
                 constant({2}, {3, 8})};  // variance: with epsilon the roots are 2 and 3
  folding_.layers = {norm};
  const auto [weights, bias] = folded();
  EXPECT_THAT(weights, ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(bias, ElementsAre((10 - 8) * 2 + 1, (20 - 21) * 2 + 2));
}

TEST_F(ChannelFolding2, applies_scales_and_shifts_in_order) {
  binary("mul", 1, constant({1, 2, 1, 1}, {2, 3}));
  binary("add", 0, constant({}, {1}));
  binary("div", 1, constant({2, 1, 1}, {4, 2}));
  binary("sub", 1, constant({1}, {0.5}));
  const auto [weights, bias] = folded();
  EXPECT_THAT(weights, ElementsAre(0.5, 1, 4.5, 6));
  EXPECT_THAT(bias, ElementsAre(-0.25, 0.0));
}

TEST_F(ChannelFolding2, subtracts_from_a_constant) {
  folding_.bias = constant({2}, {1, 2});
  binary("sub", 0, constant({2, 1, 1}, {10, 20}));
  const auto [weights, bias] = folded();
  EXPECT_THAT(weights, ElementsAre(-1, -2, -3, -4));
  EXPECT_THAT(bias, ElementsAre(9, 18));
}

TEST_F(ChannelFolding2, rounds_to_the_type_of_the_graph) {
  graph_.values[folding_.folded_weights].type.dtype = model::DataType::kBf16;
  binary("mul", 1, constant({}, {1.00390625}));  // 1 + 2^-8: halfway, to even
  EXPECT_THAT(folded().first, ElementsAre(1, 2, 3.015625, 4));
}

TEST_F(ChannelFolding2, says_so_when_a_constant_is_not_known) {
  binary("mul", 1, value({2, 1, 1}));
  std::map<model::ValueId, model::Tensor> result;
  EXPECT_FALSE(fold_channels(folding_, graph_, constants_, result));
  EXPECT_TRUE(result.empty());
}

TEST_F(ChannelFolding2, refuses_a_constant_that_is_not_per_channel) {
  binary("mul", 1, constant({3}, {1, 2, 3}));
  std::map<model::ValueId, model::Tensor> result;
  EXPECT_THROW(static_cast<void>(fold_channels(folding_, graph_, constants_, result)), Error);
}

}  // namespace
}  // namespace plumb::engine
