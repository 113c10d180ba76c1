// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/rewrite/gradient/loss.hpp"

namespace plumb::rewrite {

/// Model, its loss and the gradients of its weights as one graph.
///
/// Values of the model keep their numbers. Weights that are trained are no constants: they change
/// with every step. Batch normalisation uses the statistics of the batch, if its own are not
/// frozen. A Dropout multiplies by an input of the graph.
struct TrainingGraph {
  /// What is to be differentiated.
  ///
  /// A model that ends in a sigmoid asks for a binary cross-entropy. One with a single class asks
  /// for a mean squared error, and any other for a cross-entropy.
  struct Choice {
    std::optional<Loss> loss{};         ///< absent: what the model's last layer asks for
    std::set<model::ValueId> frozen{};  ///< weights that stay as they are, and statistics of batch
                                        ///< normalisations (both of a layer, or none of them)
    std::size_t output = 0;             ///< of the model, by its place among them
    double share = 1.0;                 ///< of this batch's loss in the loss that is minimised
    bool running_statistics = false;    ///< a step updates those of batch normalisations
    bool loss_scaling = false;  ///< gradients are those of the loss times a scale that adapts
  };

  /// Weight and the gradient of the loss by it, of the same extents.
  struct Gradient {
    model::ValueId parameter = 0;
    model::ValueId gradient = 0;
  };

  /// Running mean or variance of a batch normalisation, and the batch's that it follows.
  struct RunningStatistic {
    model::ValueId running = 0;
    model::ValueId of_batch = 0;
    double factor = 1.0;  ///< of the batch's: n ÷ (n − 1) of the variance of n numbers
  };

  /// Input of a further micro-batch.
  struct RepeatedInput {
    model::ValueId input = 0;
    model::ValueId first = 0;  ///< the same input of the first micro-batch
  };

  model::Graph graph;  ///< its outputs: the loss, then the gradients
  Loss loss_kind = Loss::kCrossEntropy;
  model::ValueId target = 0;
  std::optional<LossLayers::ClassAxis> classes;  ///< of the target, where it has classes
  model::ValueId loss = 0;                       ///< one number
  std::optional<model::ValueId> loss_scale;  ///< one number, by which all gradients are multiplied
  std::vector<Gradient> gradients;
  std::vector<model::ValueId> masks;    ///< inputs of Dropouts: 0, or 1 ÷ the share that is kept
  std::vector<RepeatedInput> repeated;  ///< by accumulate()
  std::vector<RunningStatistic> statistics;  ///< to be updated, each once
  model::LayerId first_loss_layer = 0;
  model::LayerId first_backward_layer = 0;
  std::vector<std::string> missing;        ///< layers without a gradient, and why
  std::vector<model::ValueId> incomplete;  ///< weights whose gradient a missing one keeps unknown
  std::vector<model::ValueId> unreached;   ///< weights on which the loss does not depend
};

/// Differentiates a model in reverse (Griewank & Walther, Evaluating Derivatives, 2008, chapter 3).
/// Every floating constant of several elements counts as a weight. Throws Error{kUser} if the model
/// has no such output, or one that is no floating tensor, for a cross-entropy of one class, which
/// is 0, and for a batch normalisation of which one statistic alone is frozen.
[[nodiscard]] TrainingGraph training_graph(const model::Graph& graph,
                                           const TrainingGraph::Choice& choice);

/// Word for the scales, shifts and statistics of all batch normalisations.
inline constexpr std::string_view kBatchNorms = "batch_norm";

/// Returns whether a text can name what is frozen: it has letters, digits and "_.*:/-" only.
[[nodiscard]] bool is_frozen_pattern(std::string_view text);

/// Finds the constants of layers that patterns name, in which '*' stands for any characters, and
/// what kBatchNorms stands for. Throws Error{kUser} for a pattern that names none.
[[nodiscard]] std::set<model::ValueId> frozen_values(const model::Graph& graph,
                                                     const std::vector<std::string>& patterns);

}  // namespace plumb::rewrite
