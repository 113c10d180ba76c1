// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/matrix/model_results.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

/// What results differ in, and what the rows or columns of a matrix may be.
enum class Axis { kModel, kRuntime, kStack, kSystem, kThreads, kBatch, kType, kMode, kBound };
inline constexpr std::size_t kAxes = 9;
[[nodiscard]] std::string_view to_text(Axis axis);  ///< "model", "runtime", …
[[nodiscard]] std::optional<Axis> parse_axis(std::string_view text);
[[nodiscard]] std::vector<std::string> axis_names();

/// Place of a result on every axis.
using Coordinates = std::array<std::string, kAxes>;
[[nodiscard]] inline std::string& at(Coordinates& place, Axis axis) {
  return place.at(static_cast<std::size_t>(axis));
}
[[nodiscard]] inline const std::string& at(const Coordinates& place, Axis axis) {
  return place.at(static_cast<std::size_t>(axis));
}

/// Returns a place in words: "batch 8", "2 threads", "resnet50-v1".
[[nodiscard]] std::string describe(Axis axis, const std::string& place);

/// A run as a matrix sees it.
struct MatrixRun {
  results::RunHeader header;
  results::RunState state = results::RunState::kFinished;
  std::vector<ModelResults> models;  ///< every model of its suite
  std::string problem;               ///< non-empty: the results could not be read, and why
};

/// Returns the places of runs on the axes that all their models share: runtime, stack, system and
/// threads. Equal names mean equal identities. Stacks or systems of one name that differ are told
/// apart by the facts in which they differ. Pure.
[[nodiscard]] std::vector<Coordinates> place_runs(std::span<const MatrixRun> runs);

}  // namespace plumb::analysis
