// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/model/key/tensor.hpp"
#include "harness/results/measurement.hpp"
#include "harness/rewrite/fused_graph.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "harness/worker/protocol/requests.hpp"
#include "runners/engine/exec/model_values.hpp"

namespace onnx {
class ModelProto;
}

namespace plumb::engine {

/// Makes the inputs of a model, dense and in its order.
///
/// Real numbers lie in [-1, 1). Integers and booleans are valid indices of whatever table they look
/// up, or else 0 or 1. The bytes are the same for the same model and seed on every machine. Throws
/// Error{kUser} for a type that number_formats cannot write.
[[nodiscard]] std::vector<model::Tensor> model_inputs(const model::Graph& graph,
                                                      std::uint64_t seed);

/// Adds what a step of training reads besides the model's inputs and weights, for all
/// micro-batches.
///
/// A target of classes has one class a row, or one in LossLayers::ClassAxis::rarity rows. Another
/// target lies in [-1, 1). A mask keeps an element or drops it. States are zero. A loss scale is
/// the first one. A constant that the gradients brought has its number. The numbers are the same
/// for the same seed everywhere.
void add_step_inputs(const rewrite::TrainingStep& step,
                     std::uint64_t seed,
                     std::map<model::ValueId, model::Tensor>& values);

/// Model that a request names. Its graph is read at once, its weights and inputs only by fill().
class RequestedModel {
 public:
  /// Reads the model without its weights. Throws Error{kUser} for a model that is not usable.
  explicit RequestedModel(const worker::ExecuteRequest& request);
  ~RequestedModel();
  RequestedModel(const RequestedModel&) = delete;
  RequestedModel& operator=(const RequestedModel&) = delete;
  RequestedModel(RequestedModel&&) = delete;
  RequestedModel& operator=(RequestedModel&&) = delete;

  /// Returns the graph in the type that the request asks for, or a step of its training.
  [[nodiscard]] const model::Graph& graph() const { return graph_; }
  /// Returns the step of training that graph() is. Null: it is the model.
  [[nodiscard]] const rewrite::TrainingStep* step() const { return step_ ? &*step_ : nullptr; }

  /// Returns the memory that the step may take in the mode checkpointing, if there is a cap.
  [[nodiscard]] std::optional<Bytes> memory_cap() const {
    return step_ ? step_->memory_cap : std::nullopt;
  }

  /// Makes the inputs and fills the weights, and computes the values that depend on weights alone.
  /// Weights without data come from the request's seed, as in `plumb model export --weights`.
  /// Called once. May throw std::bad_alloc.
  void fill();

  /// Returns the inputs in the types and order of the model's file.
  [[nodiscard]] const std::vector<model::Tensor>& inputs() const { return inputs_; }

  /// Makes inputs in the same way from another seed.
  [[nodiscard]] std::vector<model::Tensor> make_inputs(std::uint64_t seed) const;

  /// Returns how far outputs of the model are from the expected ones, and how far they may be:
  /// largest_difference() and `most`, or for a step of training worst_distance().
  [[nodiscard]] Deviation deviation(std::span<const model::Tensor> outputs,
                                    std::span<const model::Tensor> expected,
                                    std::span<const double> rounding,
                                    double most) const;
  /// As deviation(), between executions in two types. A deep model's gradient may then be mostly
  /// rounding, so of a step only the loss and the new weights are compared.
  [[nodiscard]] Deviation deviation_across_types(std::span<const model::Tensor> outputs,
                                                 std::span<const model::Tensor> expected,
                                                 double most) const;

  /// Returns kWrongResult where outputs are further from others than rounding explains. `others`
  /// says whose those are.
  [[nodiscard]] results::Outcome judge(const Deviation& compared, std::string_view others) const;

  /// Collects inputs and constants in the types and order that a program wants.
  ///
  /// `graph` is the model's own or was made from it. `magnitudes` holds the magnitudes of the
  /// values that set the scales of activations; those of inputs are added here. Not ok: the outcome
  /// names the value without elements.
  [[nodiscard]] results::Outcome operands(const rewrite::FusedGraph& graph,
                                          const std::vector<model::ValueId>& wanted,
                                          std::vector<model::Tensor>& operands,
                                          Magnitudes magnitudes = {}) const;

 private:
  /// Gives each further micro-batch of a step inputs of its own.
  void fill_micro_batches();

  worker::ExecuteRequest request_;
  std::unique_ptr<onnx::ModelProto> file_;
  model::Graph file_graph_;  // as written
  model::Graph graph_;
  std::optional<rewrite::TrainingStep> step_;
  std::map<model::ValueId, model::Tensor> values_;  // constants and inputs, in the file's types
  std::vector<model::Tensor> inputs_;
};

}  // namespace plumb::engine
