// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "harness/base/units.hpp"
#include "runners/engine/exec/ready_model.hpp"
#include "runners/engine/exec/requested_model.hpp"

namespace plumb::engine {

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

 private:
  /// Returns the reference's outputs. Null: it may not or cannot compute them.
  [[nodiscard]] const std::vector<model::Tensor>* expected(
      const RequestedModel& model,
      const ReadyModel& ready,
      const std::function<void()>& after_layer);

  std::int64_t macs_left_;
  Bytes kept_;
  std::map<std::uint64_t, std::vector<model::Tensor>> outputs_;  // by a digest of their origin
};

}  // namespace plumb::engine
