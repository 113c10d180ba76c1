// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runners/engine/exec/model_values.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb::engine {
namespace {

using testing::ElementsAre;

class QuantizedConstants : public testing::Test {
 protected:
  model::ValueId value(model::DataType type, const std::vector<std::int64_t>& dims) {
    graph_.graph.values.push_back({"", {type, dims, true, {}}, {}, {}});
    return graph_.graph.values.size() - 1;
  }

  model::ValueId constant(const std::vector<std::int64_t>& dims,
                          const std::vector<double>& numbers) {
    const model::ValueId id = value(model::DataType::kF32, dims);
    constants_[id] = tensor_from(graph_.graph.values[id].type, numbers);
    return id;
  }

  std::optional<model::ValueId> compute(const Magnitudes& magnitudes = {}) {
    return quantize_constants(
        graph_,
        [&](model::ValueId id) {
          const auto found = constants_.find(id);
          return found == constants_.end() ? nullptr : &found->second;
        },
        magnitudes,
        made_);
  }

  rewrite::FusedGraph graph_;
  std::map<model::ValueId, model::Tensor> constants_;
  std::map<model::ValueId, model::Tensor> made_;
};

TEST_F(QuantizedConstants, put_the_largest_magnitude_of_a_channel_at_the_end_of_its_grid) {
  const model::ValueId weights = constant({3, 2}, {0.5, -1.0, 0.0, 0.0, 25.4, 10.0});
  rewrite::FusedGraph::QuantizedWeights to{
      weights, value(model::DataType::kS8, {3, 2}), value(model::DataType::kF32, {3})};
  graph_.quantization.weights.push_back(to);
  EXPECT_EQ(compute(), std::nullopt);
  EXPECT_THAT(read_numbers(made_.at(to.quantized)), ElementsAre(64, -127, 0, 0, 127, 50));
  const std::vector<double> scales = read_numbers(made_.at(to.scale));
  EXPECT_FLOAT_EQ(static_cast<float>(scales[0]), 1.0F / 127.0F);
  EXPECT_EQ(scales[1], 1.0);
  EXPECT_FLOAT_EQ(static_cast<float>(scales[2]), 0.2F);
}

TEST_F(QuantizedConstants, know_columns_and_turned_matrices) {
  const model::ValueId weights = constant({2, 3}, {1.0, 4.0, 0.0, 2.0, -8.0, 3.0});
  rewrite::FusedGraph::QuantizedWeights columns{
      weights, value(model::DataType::kS8, {2, 3}), value(model::DataType::kF32, {3}), true};
  rewrite::FusedGraph::QuantizedWeights turned{
      weights, value(model::DataType::kS8, {3, 2}), value(model::DataType::kF32, {2})};
  turned.turned = true;
  graph_.quantization.weights = {columns, turned};
  EXPECT_EQ(compute(), std::nullopt);
  EXPECT_THAT(read_numbers(made_.at(columns.quantized)), ElementsAre(64, 64, 0, 127, -127, 127));
  EXPECT_THAT(read_numbers(made_.at(turned.quantized)), ElementsAre(32, 32, 127, -127, 0, 48));
}

TEST_F(QuantizedConstants, share_one_scale_among_joined_activations) {
  const model::ValueId left = value(model::DataType::kF32, {2});
  const model::ValueId right = value(model::DataType::kF32, {2});
  const model::ValueId scale = value(model::DataType::kF32, {});
  graph_.quantization.activations.push_back({{left, right}, scale, model::DataType::kU8});
  EXPECT_EQ(compute({{left, 1.0}}), right);
  EXPECT_EQ(compute({{left, 1.0}, {right, 510.0}}), std::nullopt);
  EXPECT_THAT(read_numbers(made_.at(scale)), ElementsAre(2.0));
  graph_.quantization.activations[0].type = model::DataType::kS8;
  EXPECT_EQ(compute({{left, 254.0}, {right, 1.0}}), std::nullopt);
  EXPECT_THAT(read_numbers(made_.at(scale)), ElementsAre(2.0));
}

TEST_F(QuantizedConstants, name_the_weights_that_are_not_known) {
  const model::ValueId weights = value(model::DataType::kF32, {2, 2});
  graph_.quantization.weights.push_back(
      {weights, value(model::DataType::kS8, {2, 2}), value(model::DataType::kF32, {2})});
  EXPECT_EQ(compute(), weights);
}

TEST(Magnitude, is_that_of_the_largest_number_of_either_sign) {
  const model::TensorType type{model::DataType::kF32, {3}, false, {}};
  EXPECT_EQ(compute_magnitude(tensor_from(type, std::vector{1.0, -7.5, 3.0})), 7.5);
  EXPECT_EQ(compute_magnitude(
                tensor_from({model::DataType::kF32, {0}, false, {}}, std::vector<double>{})),
            0.0);
}

}  // namespace
}  // namespace plumb::engine
