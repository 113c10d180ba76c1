// SPDX-License-Identifier: Apache-2.0
// Losses of detectors and segmenters by their definitions, computed with the float64 reference.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "harness/rewrite/gradient/training_graph.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "runners/engine/exec/reference_comparison.hpp"
#include "runners/engine/exec/requested_model.hpp"
#include "runners/engine/number_formats.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"
#include "tests/unit/rewrite/training_example.hpp"

namespace plumb::engine {
namespace {

/// Loss of logits, and its gradient by each of them.
struct ComputedLoss {
  double loss = 0.0;
  std::vector<double> gradient;
};

/// Computes a loss of logits that are weights of a graph, which ends in a sigmoid if asked.
ComputedLoss compute_loss(rewrite::Loss loss,
                          const std::vector<std::int64_t>& dims,
                          const std::vector<double>& logits,
                          const std::vector<double>& target,
                          bool sigmoid = false) {
  rewrite::GraphSketch sketch;
  const auto zeros = sketch.input(dims);
  const auto weights = sketch.weight(dims);
  const auto numbers = sketch.add(zeros, weights);
  const model::Graph graph = sketch.build({sigmoid ? sketch.sigmoid(numbers) : numbers});
  const rewrite::TrainingGraph made = rewrite::training_graph(
      rewrite::with_precision(graph, model::DataType::kF64), {.loss = loss});
  std::map<model::ValueId, model::Tensor> values;
  const auto give = [&](model::ValueId id, const std::vector<double>& list) {
    values[id] = tensor_from(made.graph.values.at(id).type, list);
  };
  give(zeros, std::vector<double>(logits.size()));
  give(weights, logits);
  give(made.target, target);
  std::vector<model::Tensor> outputs;
  const results::Outcome outcome = reference_model_outputs(made.graph, values, outputs);
  EXPECT_TRUE(outcome.ok()) << outcome.reason;
  return {number_at(outputs.at(0), 0), read_numbers(outputs.at(1))};
}

std::vector<double> some_logits(std::size_t count) {
  std::vector<double> logits;
  for (std::size_t i = 0; i < count; ++i) {
    logits.push_back(3.0 * rewrite::number(7, i));
  }
  return logits;
}

// Equation 5 of Lin et al., 2017. Appendix B has its derivative, y (1 − p)² (2 p log p + p − 1).
// p is the probability of the right answer, and y is 1 or −1.
TEST(FocalLoss, and_its_gradient_are_those_by_hand) {
  const std::vector<double> logits = some_logits(12);
  std::vector<double> target(12);
  target[1] = target[5] = 1.0;  // of the first sample; the second one has no object
  double loss = 0.0;
  std::vector<double> gradient(12);
  for (std::size_t i = 0; i < 12; ++i) {
    const double sign = 2.0 * target[i] - 1.0;
    const double p = 1.0 / (1.0 + std::exp(-sign * logits[i]));
    const double alpha = target[i] == 1.0 ? 0.25 : 0.75;
    const double share = alpha * (1.0 - p) * (1.0 - p) / (i < 6 ? 2.0 : 1.0) / 2.0;
    loss -= share * std::log(p);
    gradient[i] = share * sign * (2.0 * p * std::log(p) + p - 1.0);
  }
  for (const bool sigmoid : {false, true}) {
    const ComputedLoss found =
        compute_loss(rewrite::Loss::kFocal, {2, 2, 3}, logits, target, sigmoid);
    EXPECT_NEAR(found.loss, loss, 1e-14);
    for (std::size_t i = 0; i < 12; ++i) {
      EXPECT_NEAR(found.gradient.at(i), gradient[i], 1e-14);
    }
  }
}

TEST(FocalLoss, is_exact_for_logits_of_any_size) {
  const ComputedLoss found =
      compute_loss(rewrite::Loss::kFocal, {1, 4}, {1000.0, -1000.0, 1000.0, -1000.0}, {1, 1, 0, 0});
  EXPECT_NEAR(found.loss, (0.25 + 0.75) * 1000.0 / 2.0, 1e-10);
  const std::vector<double> expected{0.0, -0.125, 0.375, 0.0};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(found.gradient.at(i), expected[i], 1e-12);
  }
}

TEST(FocalLoss, one_of_a_thousand_rows_of_its_target_has_a_class) {
  constexpr std::int64_t kRows = 20000;
  rewrite::GraphSketch sketch;
  const auto x = sketch.input({2, kRows, 3});
  const rewrite::TrainingStep step = rewrite::training_step(
      sketch.build({sketch.add(x, sketch.weight({3}))}), {.loss = rewrite::Loss::kFocal}, {});
  std::map<model::ValueId, model::Tensor> values;
  add_step_inputs(step, 1, values);
  const std::vector<double> labels = read_numbers(values.at(step.training.target));
  ASSERT_EQ(labels.size(), static_cast<std::size_t>(2 * kRows * 3));
  double objects = 0.0;
  for (std::size_t i = 0; i < labels.size(); i += 3) {
    const double of_row = labels[i] + labels[i + 1] + labels[i + 2];
    EXPECT_TRUE(of_row == 0.0 || of_row == 1.0) << of_row;
    objects += of_row;
  }
  EXPECT_GT(objects, 10.0);
  EXPECT_LT(objects, 80.0);
}

/// Computes (1 − mean overlap + cross-entropy) ÷ 2 of [samples, classes, places].
double dice_cross_entropy(const std::vector<std::size_t>& dims,
                          const std::vector<double>& logits,
                          const std::vector<double>& target) {
  const std::size_t samples = dims.at(0);
  const std::size_t classes = dims.at(1);
  const std::size_t places = dims.at(2);
  const auto at = [&](std::size_t sample, std::size_t c, std::size_t place) {
    return (sample * classes + c) * places + place;
  };
  std::vector<double> probabilities(logits.size());
  double entropy = 0.0;
  for (std::size_t sample = 0; sample < samples; ++sample) {
    for (std::size_t place = 0; place < places; ++place) {
      double sum = 0.0;
      for (std::size_t c = 0; c < classes; ++c) {
        sum += std::exp(logits[at(sample, c, place)]);
      }
      for (std::size_t c = 0; c < classes; ++c) {
        const std::size_t i = at(sample, c, place);
        probabilities[i] = std::exp(logits[i]) / sum;
        entropy -= target[i] * std::log(probabilities[i]);
      }
    }
  }
  double overlaps = 0.0;
  for (std::size_t sample = 0; sample < samples; ++sample) {
    for (std::size_t c = 1; c < classes; ++c) {
      double hits = 0.0;
      double both = 0.0;
      for (std::size_t place = 0; place < places; ++place) {
        const std::size_t i = at(sample, c, place);
        hits += target[i] * probabilities[i];
        both += target[i] + probabilities[i];
      }
      overlaps += (2.0 * hits + 1e-6) / (both + 1e-6);
    }
  }
  const auto scores = static_cast<double>(samples * (classes - 1));
  return (1.0 - overlaps / scores + entropy / static_cast<double>(samples * places)) / 2.0;
}

TEST(DiceCrossEntropy, and_its_gradient_are_those_by_hand) {
  const std::vector<std::size_t> dims{2, 3, 4};
  std::vector<double> logits = some_logits(24);
  std::vector<double> target(24);
  for (std::size_t sample = 0; sample < 2; ++sample) {
    for (std::size_t place = 0; place < 4; ++place) {
      // The second sample has no place of the last class.
      target[(sample * 3 + (2 * sample + place) % (3 - sample)) * 4 + place] = 1.0;
    }
  }
  const ComputedLoss found =
      compute_loss(rewrite::Loss::kDiceCrossEntropy, {2, 3, 2, 2}, logits, target);
  EXPECT_NEAR(found.loss, dice_cross_entropy(dims, logits, target), 1e-14);
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < 24; ++i) {
    const double logit = logits[i];
    logits[i] = logit + kStep;
    const double above = dice_cross_entropy(dims, logits, target);
    logits[i] = logit - kStep;
    const double below = dice_cross_entropy(dims, logits, target);
    logits[i] = logit;
    EXPECT_NEAR(found.gradient.at(i), (above - below) / (2.0 * kStep), 1e-9);
  }
}

TEST(DiceCrossEntropy, is_zero_where_everything_is_found) {
  std::vector<double> logits(std::size_t{3} * 4, -50.0);
  std::vector<double> target(logits.size());
  for (std::size_t place = 0; place < 4; ++place) {
    target[place % 3 * 4 + place] = 1.0;
    logits[place % 3 * 4 + place] = 50.0;
  }
  const ComputedLoss found =
      compute_loss(rewrite::Loss::kDiceCrossEntropy, {1, 3, 2, 2}, logits, target);
  EXPECT_NEAR(found.loss, 0.0, 1e-12);
}

}  // namespace
}  // namespace plumb::engine
