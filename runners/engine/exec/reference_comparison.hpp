// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/model/key/tensor.hpp"
#include "harness/results/measurement.hpp"
#include "runners/engine/exec/ready_model.hpp"
#include "runners/engine/exec/requested_model.hpp"

namespace plumb::engine {

/// Measures how far rounding may move the outputs of a step of training, by kind
/// (rewrite::TrainingStep::kinds), relative to their norm.
///
/// The step is executed once more from operands that are changed at random by up to 2⁻¹⁹, what
/// rounding leaves of a sum of a thousand products in f32, or by half of the last digit of bf16
/// (2⁻⁹), f16 and TF32 (2⁻¹²) in a step that has them. This is Monte Carlo arithmetic (Parker,
/// "Monte Carlo Arithmetic", 1997) with the operands alone. Then the ready step is bound anew, as
/// before its first execution. Empty: the model is no step of training, or has no such operands.
/// Calls `after_part`, if it is given, now and then: weights of gigabytes take long.
[[nodiscard]] std::vector<double> measure_rounding(const RequestedModel& model,
                                                   ReadyModel& ready,
                                                   const std::function<void()>& after_part = {});

/// Computes a model's outputs layer by layer with the float64 reference. `values` are its inputs,
/// its constants and what folded layers make of them. A value is freed once it was read for the
/// last time. Calls `after_layer`, if it is given, after each layer. Not ok: a layer without a
/// reference, or a value that is not known.
[[nodiscard]] results::Outcome reference_model_outputs(
    const model::Graph& graph,
    std::map<model::ValueId, model::Tensor> values,
    std::vector<model::Tensor>& outputs,
    const std::function<void()>& after_layer = {});

/// Returns how many bytes reference_model_outputs() takes at most, `given` values included. Each
/// layer counts with its operands and results, in their types and in float64, and with nothing
/// else that its algorithm may need.
[[nodiscard]] Bytes reference_memory(const model::Graph& graph,
                                     std::span<const model::ValueId> given);

/// Comparison of the modes of a model with the reference.
///
/// Modes with equal graphs and operands share what the reference computes, so that it is computed
/// once. Not for several models: a step's reference may be hundreds of megabytes.
class ReferenceComparison {
 public:
  /// `macs` is how many multiply-accumulates the reference may compute for all modes.
  explicit ReferenceComparison(std::int64_t macs) : macs_left_(macs) {}

  /// Compares the outputs of a ready model with what the reference computes of the same graph from
  /// the same operands. Nothing is compared if a layer has no reference, or if the graph has more
  /// multiply-accumulates than are left. Calls `after_layer`, if it is given, after each layer: the
  /// comparison may take long.
  [[nodiscard]] std::optional<Deviation> compare(const RequestedModel& model,
                                                 const ReadyModel& ready,
                                                 const std::function<void()>& after_layer = {});

  /// Returns whether compare() would compute the outputs of a graph, and not just read them.
  [[nodiscard]] bool will_compute(const model::Graph& graph) const;

  /// Frees what was computed.
  void clear();

 private:
  [[nodiscard]] bool is_affordable(const model::Graph& graph) const;
  /// Returns the reference's outputs. Null: it may not or cannot compute them.
  [[nodiscard]] const std::vector<model::Tensor>* expected(
      const RequestedModel& model,
      const ReadyModel& ready,
      const std::function<void()>& after_layer);

  std::int64_t macs_left_;
  Bytes kept_;
  std::map<std::uint64_t, std::vector<model::Tensor>> outputs_;  // by a digest of their origin
  std::set<std::uint64_t> graphs_;  // digests of the graphs whose outputs are kept
};

/// Returns the most memory of the host that verifying a prepared model takes at once, beside its
/// program and the model's values.
///
/// The outputs count and, at one time or another, the operands, the outputs of a device launch by
/// launch, and what the reference computes. Null: there is no comparison with the reference.
[[nodiscard]] Bytes verification_memory(const ReadyModel& ready,
                                        const ReferenceComparison* reference,
                                        bool on_device);

}  // namespace plumb::engine
