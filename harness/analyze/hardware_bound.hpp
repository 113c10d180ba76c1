// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "harness/model/graph.hpp"
#include "harness/results/run.hpp"

namespace plumb {

/// Compulsory transfers and computation that no execution of a model on a machine can avoid.
struct HardwareFloor {
  Bytes compulsory;    ///< inputs, weights that are read and outputs, each once
  Seconds transfer{};  ///< what of it exceeds the last-level cache ÷ bandwidth
  Seconds compute{};   ///< minimum operations of floating-point products ÷ peak

  [[nodiscard]] Seconds seconds() const { return transfer > compute ? transfer : compute; }
};

/// Counts the bytes that every execution must read or write at least once: inputs of the model and
/// weights as far as they are read (a Gather reads its rows, not the table), and outputs.
[[nodiscard]] Bytes compulsory_bytes(const Graph& graph);

/// Raises the peaks to what products of the run reached: minimum operations ÷ median of full rows
/// that gave right results. The calibration may have met a slow moment of the machine.
[[nodiscard]] Calibration with_reached_peaks(Calibration calibration,
                                             std::span<const StoredMeasurement> rows);

/// Computes the hard bound of DESIGN §4; empty if the calibration lacks a bandwidth or a peak.
[[nodiscard]] std::optional<HardwareFloor> hardware_floor(const Graph& graph,
                                                          const Calibration& calibration);

}  // namespace plumb
