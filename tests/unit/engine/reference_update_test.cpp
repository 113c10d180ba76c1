// SPDX-License-Identifier: Apache-2.0
// Updates of weights, against numbers computed by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/model/key/training_layers.hpp"
#include "runners/engine/number_formats.hpp"
#include "runners/engine/reference/reference.hpp"

namespace plumb::engine {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Lists = std::vector<std::vector<double>>;

Lists updated(const std::string& key, const Lists& operands) {
  const model::LayerSpec spec = model::parse_key({"v1:" + key});
  std::vector<model::Tensor> tensors;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    tensors.push_back(tensor_from(spec.inputs.at(i).value(), operands[i]));
  }
  Lists results;
  for (const model::Tensor& result : reference_outputs(spec, tensors)) {
    results.push_back(read_numbers(result));
  }
  return results;
}

TEST(ReferenceUpdate, of_sgd_goes_down_the_gradient) {
  const Lists found =
      updated("sgd;in=f64[2],f64[2];out=f64[2];acc=f64;math=strict;decay=0.0;momentum=0.0;rate=0.5",
              {{1.0, -2.0}, {3.0, 4.0}});
  EXPECT_THAT(found.at(0), ElementsAre(-0.5, -4.0));
}

TEST(ReferenceUpdate, of_sgd_keeps_a_momentum_and_decays_weights) {
  const Lists found = updated(
      "sgd;in=f64[1],f64[1],f64[1],f64[2],f64[2],f64[2];out=f64[1],f64[1],f64[2],f64[2];acc=f64;"
      "math=strict;decay=0.25;momentum=0.5;rate=0.5",
      {{4.0}, {3.0}, {6.0}, {0.0, 8.0}, {1.0, 1.0}, {0.0, 0.0}});
  // 0.5 · 6 + (3 + 0.25 · 4) = 7, and 4 − 0.5 · 7.
  EXPECT_THAT(found.at(0), ElementsAre(0.5));
  EXPECT_THAT(found.at(1), ElementsAre(7.0));
  EXPECT_THAT(found.at(2), ElementsAre(-0.5, 6.5));
  EXPECT_THAT(found.at(3), ElementsAre(1.0, 3.0));
}

TEST(ReferenceUpdate, of_adam_moves_by_the_rate_at_first) {
  // Corrected, the first moment is the gradient and the second its square.
  const Lists found = updated(
      "adam;in=f64[2],f64[2],f64[2],f64[2],f64[1];out=f64[2],f64[2],f64[2],f64[1];acc=f64;"
      "math=strict;beta1=0.9;beta2=0.99;decay=0.0;decay_of=gradient;epsilon=0.0;rate=0.125",
      {{1.0, 1.0}, {5.0, -0.01}, {0.0, 0.0}, {0.0, 0.0}, {0.0}});
  EXPECT_THAT(found.at(0), ElementsAre(DoubleNear(0.875, 1e-12), DoubleNear(1.125, 1e-12)));
  EXPECT_THAT(found.at(1), ElementsAre(DoubleNear(0.5, 1e-12), DoubleNear(-0.001, 1e-12)));
  EXPECT_THAT(found.at(2), ElementsAre(DoubleNear(0.25, 1e-12), DoubleNear(1e-6, 1e-12)));
  EXPECT_THAT(found.at(3), ElementsAre(1.0));
}

TEST(ReferenceUpdate, of_adam_decays_the_gradient_or_the_weights) {
  const auto found_by = [](const std::string& decay_of) {
    return updated(
        "adam;in=f64[1],f64[1],f64[1],f64[1],f64[1];out=f64[1],f64[1],f64[1],f64[1];acc=f64;"
        "math=strict;beta1=0.5;beta2=0.75;decay=0.5;decay_of=" +
            decay_of + ";epsilon=0.0;rate=0.1",
        {{2.0}, {1.0}, {0.0}, {0.0}, {1.0}});
  };
  // Of the gradient: it becomes 2. Second step: corrections 0.75 and 0.4375.
  const Lists of_gradient = found_by("gradient");
  EXPECT_THAT(of_gradient.at(1), ElementsAre(1.0));
  EXPECT_THAT(of_gradient.at(2), ElementsAre(1.0));
  EXPECT_THAT(of_gradient.at(0),
              ElementsAre(DoubleNear(2.0 - 0.1 / 0.75 * std::sqrt(0.4375), 1e-12)));
  const Lists of_weights = found_by("weights");
  EXPECT_THAT(of_weights.at(1), ElementsAre(0.5));
  EXPECT_THAT(of_weights.at(0),
              ElementsAre(DoubleNear(1.9 - 0.1 * (0.5 / 0.75) / std::sqrt(0.25 / 0.4375), 1e-12)));
}

TEST(ReferenceUpdate, of_lamb_moves_by_a_share_of_the_weights) {
  // First step: the corrected moments are the gradient and its square, so that the direction is the
  // sign of the gradient, and with decay 0.5: (1 + 1.5, −1 + 2) = (2.5, 1). Norms: 5 and √7.25.
  const Lists found = updated(
      "lamb;in=f64[2],f64[2],f64[2],f64[2],f64[1];out=f64[2],f64[2],f64[2],f64[1];acc=f64;"
      "math=strict;beta1=0.9;beta2=0.99;decay=0.5;epsilon=0.0;rate=0.125",
      {{3.0, 4.0}, {10.0, -0.1}, {0.0, 0.0}, {0.0, 0.0}, {0.0}});
  const double ratio = 5.0 / std::sqrt(7.25);
  EXPECT_THAT(found.at(0),
              ElementsAre(DoubleNear(3.0 - 0.125 * ratio * 2.5, 1e-12),
                          DoubleNear(4.0 - 0.125 * ratio * 1.0, 1e-12)));
  EXPECT_THAT(found.at(1), ElementsAre(DoubleNear(1.0, 1e-12), DoubleNear(-0.01, 1e-12)));
  EXPECT_THAT(found.at(2), ElementsAre(DoubleNear(1.0, 1e-12), DoubleNear(1e-4, 1e-12)));
  EXPECT_THAT(found.at(3), ElementsAre(1.0));
}

TEST(ReferenceUpdate, of_lamb_moves_weights_of_zero_by_the_rate) {
  const Lists found = updated(
      "lamb;in=f64[1],f64[1],f64[1],f64[1],f64[1];out=f64[1],f64[1],f64[1],f64[1];acc=f64;"
      "math=strict;beta1=0.9;beta2=0.99;decay=0.5;epsilon=0.0;rate=0.125",
      {{0.0}, {-3.0}, {0.0}, {0.0}, {0.0}});
  EXPECT_THAT(found.at(0), ElementsAre(DoubleNear(0.125, 1e-12)));
}

TEST(ReferenceUpdate, is_left_out_where_its_condition_is_0) {
  const std::string sgd =
      "sgd;in=f64[2],f64[2],f64[2],f64[1];out=f64[2],f64[2];acc=f64;math=strict;decay=0.0;"
      "momentum=0.5;rate=0.5";
  const Lists operands{{1.0, -2.0}, {3.0, 4.0}, {2.0, 6.0}};
  const auto with = [&](double condition) {
    Lists all = operands;
    all.push_back({condition});
    return updated(sgd, all);
  };
  EXPECT_THAT(with(1.0), ElementsAre(ElementsAre(-1.0, -5.5), ElementsAre(4.0, 7.0)));
  EXPECT_THAT(with(0.0), ElementsAre(ElementsAre(1.0, -2.0), ElementsAre(2.0, 6.0)));
  const Lists adam = updated(
      "adam;in=f64[1],f64[1],f64[1],f64[1],f64[1],f64[1];out=f64[1],f64[1],f64[1],f64[1];"
      "acc=f64;math=strict;beta1=0.5;beta2=0.75;decay=0.5;decay_of=weights;epsilon=0.0;"
      "rate=0.1",
      {{2.0}, {1.0}, {0.25}, {0.75}, {3.0}, {0.0}});
  EXPECT_THAT(
      adam, ElementsAre(ElementsAre(2.0), ElementsAre(0.25), ElementsAre(0.75), ElementsAre(3.0)));
}

TEST(UpdateKey, says_what_is_wrong) {
  const auto problem = [](const std::string& key) -> std::string {
    try {
      static_cast<void>(model::parse_key({"v1:" + key}));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string numbers = ";acc=f32;math=strict;decay=0.0;momentum=0.9;rate=0.1";
  EXPECT_EQ(problem("sgd;in=f32[2],f32[2],f32[2];out=f32[2],f32[2]" + numbers), "");
  EXPECT_THAT(problem("sgd;in=f32[2],f32[2];out=f32[2]" + numbers), HasSubstr("3: weights"));
  EXPECT_THAT(problem("sgd;in=f32[2],f32[3],f32[2];out=f32[2],f32[2]" + numbers),
              HasSubstr("operand 1 is [3]"));
  EXPECT_THAT(problem("sgd;in=f32[2],f32[2],f32[2];out=f32[2]" + numbers), HasSubstr("outputs"));
  EXPECT_THAT(problem("sgd;in=f32[2],f32[2],f32[2];out=f32[2],bf16[2]" + numbers),
              HasSubstr("output 1 differs"));
  EXPECT_THAT(problem("sgd;in=f32[2],f32[2],-;out=f32[2],f32[2]" + numbers), HasSubstr("missing"));
  EXPECT_THAT(problem("sgd;in=f32[2],f32[2],f32[2];out=f32[2],f32[2]" + numbers + ";epilogue=relu"),
              HasSubstr("fused"));
  EXPECT_THAT(problem("sgd;in=f32[2],f32[2],f32[2];out=f32[2],f32[2];acc=f32;math=strict;"
                      "decay=0.0;momentum=1.5;rate=0.1"),
              HasSubstr("momentum"));
  EXPECT_EQ(problem("sgd;in=f32[2],f32[2],f32[2],f32[1];out=f32[2],f32[2]" + numbers), "");
  EXPECT_THAT(problem("sgd;in=f32[2],f32[2],f32[2],f32[2];out=f32[2],f32[2]" + numbers),
              HasSubstr("the condition is [2]"));
  EXPECT_THAT(problem("sgd;in=f32[2],f32[2],f32[2],f32[1],f32[1];out=f32[2],f32[2]" + numbers),
              HasSubstr("5 operands"));
  const std::string scale = ";acc=f32;math=strict;backoff=0.5;growth=2.0;interval=";
  EXPECT_EQ(problem("loss_scale;in=f32[1],f32[1],f32[7];out=f32[1],f32[1],f32[1]" + scale + "9"),
            "");
  EXPECT_THAT(problem("loss_scale;in=f32[1],f32[1],f32[7];out=f32[1],f32[1],f32[1]" + scale + "0"),
              HasSubstr("0 steps"));
  EXPECT_THAT(problem("loss_scale;in=f32[1],f32[2],f32[7];out=f32[1],f32[1],f32[1]" + scale + "9"),
              HasSubstr("operand 1 is no single number"));
  EXPECT_THAT(problem("loss_scale;in=f32[1],f32[1],f32[7];out=f32[1],f32[1]" + scale + "9"),
              HasSubstr("2 outputs"));
}

TEST(UpdateKey, knows_which_operand_each_result_replaces) {
  const model::UpdateShape shape(
      model::parse_key({"v1:adam;in=f32[9],f32[9],f32[9],f32[9],f32[1],f32[4],f32[4],f32[4],f32[4],"
                        "f32[1];out=f32[9],f32[9],f32[9],f32[1],f32[4],f32[4],f32[4],f32[1];"
                        "acc=f32;math=strict;beta1=0.9;beta2=0.999;decay=0.0;decay_of=weights;"
                        "epsilon=1e-08;rate=0.1"}));
  EXPECT_EQ(shape.tensors(), 2U);
  std::vector<std::size_t> replaced;
  for (std::size_t result = 0; result < 8; ++result) {
    replaced.push_back(shape.replaced(result));
  }
  EXPECT_THAT(replaced, ElementsAre(0, 2, 3, 4, 5, 7, 8, 9));
  EXPECT_EQ(shape.condition(), std::nullopt);
}

}  // namespace
}  // namespace plumb::engine
