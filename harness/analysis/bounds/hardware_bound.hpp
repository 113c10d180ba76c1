// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "harness/model/graph/graph.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Transfers and computation that no execution of a model on a machine can avoid.
struct HardwareBound {
  Bytes compulsory;                 ///< inputs, weights that are read and outputs, each once
  std::optional<Seconds> transfer;  ///< the part of it above the last-level cache ÷ bandwidth;
                                    ///< absent: all of it fits into that cache
  std::optional<Seconds> compute;   ///< minimum operations of the products ÷ peak; absent: no
                                    ///< product has a peak
  bool complete = true;             ///< every product is of a type that has a peak

  /// Returns the larger part. Absent: nothing is known that limits the model.
  [[nodiscard]] std::optional<Seconds> seconds() const { return std::max(transfer, compute); }
};

/// Counts the bytes that every execution must read or write at least once. These are the outputs,
/// and the model's inputs and weights as far as they are read: a Gather reads its rows, not the
/// table.
[[nodiscard]] Bytes compulsory_bytes(const model::Graph& graph);

/// Raises the peaks to those that products of the run reached, since the calibration may have met a
/// slow moment. That is minimum operations ÷ median of full rows with right results.
[[nodiscard]] results::Calibration with_reached_peaks(
    results::Calibration calibration, std::span<const results::StoredMeasurement> rows);

/// Returns the minimum operations of a layer's products ÷ the peak of their type. Absent: it has no
/// products, or the calibration has no peak for them.
[[nodiscard]] std::optional<Seconds> minimum_product_time(const model::LayerSpec& spec,
                                                          const model::LayerCost& cost,
                                                          const results::Calibration& calibration);

/// Computes the bound `hardware` of docs/reference/bounds.md. Empty: the calibration lacks a
/// bandwidth or a peak.
[[nodiscard]] std::optional<HardwareBound> hardware_floor(const model::Graph& graph,
                                                          const results::Calibration& calibration);

}  // namespace plumb::analysis
