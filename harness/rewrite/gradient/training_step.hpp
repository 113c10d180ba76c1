// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/rewrite/gradient/loss.hpp"
#include "harness/rewrite/gradient/training_graph.hpp"

namespace plumb::rewrite {

/// Lists the names that parse_optimizer() knows.
[[nodiscard]] std::vector<std::string> optimizer_names();

/// Loss scale of the first step, as PyTorch's GradScaler has it.
inline constexpr double kFirstLossScale = 65536.0;

/// Whole step of training as one graph: forward, loss, backward and the update of all weights.
///
/// Weights are inputs of the graph, and so are running statistics that are updated: those of the
/// first micro-batch count. New weights, states and statistics take the place of the old ones
/// (model::UpdateShape), so that executing the graph again is the next step. The updates are its
/// last layers.
struct TrainingStep {
  /// Rule by which a step of training changes weights, with its numbers.
  struct Optimizer {
    enum class Kind {
      kSgd,    ///< gradient descent, with momentum where that is not 0
      kAdam,   ///< Kingma & Ba, 2015; the decay is added to the gradient
      kAdamw,  ///< the same with the decay of the weights themselves (Loshchilov & Hutter, 2019)
      kLamb,   ///< the same with a rate for each tensor (You et al., 2020)
    };
    Kind kind = Kind::kSgd;
    double rate = 0.001;
    double momentum = 0.9;  ///< of kSgd
    double decay = 0.0;
    double beta1 = 0.9;  ///< of the others
    double beta2 = 0.999;
    double epsilon = 1e-8;
  };

  /// What a step of training consists of beside the model.
  struct Choice {
    Optimizer optimizer;
    std::int64_t micro_batches = 1;     ///< whose gradients one update adds up (accumulate())
    std::optional<Loss> loss{};         ///< absent: what the model's last layer asks for
    std::vector<std::string> frozen{};  ///< patterns of frozen_values()
    bool running_statistics = false;    ///< TrainingGraph::Choice::running_statistics
    bool loss_scaling = false;          ///< TrainingGraph::Choice::loss_scaling
    std::optional<Bytes> memory_cap{};  ///< for the mode checkpointing; absent: as little as it can
  };

  /// Step in another form that computes the same: some values twice, or by other layers.
  struct Rewritten {
    model::Graph graph;  ///< values of the step keep their numbers; those that are added follow
    std::vector<model::LayerId> origins;  ///< of each layer: the layer of the step that it repeats
                                          ///< or replaces
    std::size_t changes = 0;              ///< as the function that rewrites it counts them
  };

  TrainingGraph training;  ///< outputs of its graph: the loss, all new weights, all new states, all
                           ///< new running statistics, and with a loss scale that adapts the new
                           ///< scale and for how many steps it has been the same
  model::LayerId first_update_layer = 0;
  std::vector<model::ValueId> states;  ///< inputs: zero before the first step
  /// Of each output, a number that equals those of its kind: 0 is the loss, 1 are the weights.
  std::vector<std::size_t> kinds;
  std::optional<Bytes> memory_cap{};  ///< Choice::memory_cap
};

/// Returns the numbers with which suites train: those that PyTorch takes by itself, but for SGD a
/// rate of 0.001 with a momentum of 0.9. For LAMB, which PyTorch has not, they are the paper's: ε
/// is 1e-6, and the decay 0.01.
[[nodiscard]] TrainingStep::Optimizer standard_optimizer(TrainingStep::Optimizer::Kind kind);

[[nodiscard]] std::string_view to_text(TrainingStep::Optimizer::Kind kind);

[[nodiscard]] std::optional<TrainingStep::Optimizer::Kind> parse_optimizer(std::string_view text);

/// Reads "sgd", or "sgd:4" for four micro-batches, with the numbers of standard_optimizer(). A loss
/// and frozen weights may follow, that the loss is scaled, a cap of memory in bytes, KiB, MiB or
/// GiB, and that running statistics are updated:
/// "sgd+mean_squared_error+freeze=conv1*+loss_scaling+memory_cap=2GiB+running_statistics".
[[nodiscard]] std::optional<TrainingStep::Choice> parse_step_choice(std::string_view text);

/// Adds a loss, if there is one, and frozen weights to a text that parse_step_choice() reads.
[[nodiscard]] std::string step_choice_text(std::string text,
                                           const std::optional<std::string>& loss,
                                           const std::vector<std::string>& frozen);

/// Writes what parse_step_choice() reads, and the same for all texts of one step: the optimiser,
/// the loss, frozen weights sorted and each once, the scaling of the loss, the cap of memory and
/// running statistics.
[[nodiscard]] std::string to_text(const TrainingStep::Choice& choice);

/// Lists what parse_step_choice() reads: "sgd, adam, adamw or lamb, and :K behind it for …".
[[nodiscard]] std::string step_choice_words();

/// Makes a step of the losses' mean over micro-batches, each as large as the graph's batch. Throws
/// as below.
[[nodiscard]] TrainingStep training_step(const model::Graph& graph,
                                         const TrainingStep::Choice& choice);

/// Adds updates to a model's gradients. Throws Error{kUser} if a gradient is missing, with the
/// layers at fault, and as training_graph().
[[nodiscard]] TrainingStep training_step(const model::Graph& graph,
                                         const TrainingGraph::Choice& choice,
                                         const TrainingStep::Optimizer& optimizer);

/// Returns whether a graph is a step of training: it updates weights.
[[nodiscard]] bool is_step(const model::Graph& graph);

}  // namespace plumb::rewrite
