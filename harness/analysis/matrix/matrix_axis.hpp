// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/matrix/matrix_quantity.hpp"
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

/// What a matrix is to show.
struct MatrixQuery {
  /// Rules for a cell that several runs fill.
  enum class SharedCells {
    kMiddle,  ///< the middle of the runs, with the interval over them (middle_of())
    kNewest,  ///< the run that started last, whether it has a value or not
  };

  Quantity quantity = Quantity::kTime;
  std::vector<std::string> modes{"plain"};
  std::vector<results::BoundKind> bounds{results::BoundKind::kLibrary};
  std::optional<Axis> rows = {};     ///< absent: the models
  std::optional<Axis> columns = {};  ///< absent: the first axis on which results differ
  /// Each cell is the geometric mean over the models. No axis may be the models then.
  bool mean_over_models = false;
  std::map<Axis, std::vector<std::string>> only = {};  ///< places that count; no entry: all
  /// Name of the column that the others are divided by. Empty: none. kFirstColumn: the first.
  std::string relative_to = {};
  /// Name of the stack whose bounds hold for all results of its system and threads, such as those
  /// of another runtime. Empty: each run has its own bounds.
  std::string bounds_of = {};
  SharedCells shared = SharedCells::kMiddle;
};
inline constexpr const char* kFirstColumn = "@first";

/// A query by name. A new view is one row of the table.
struct MatrixView {
  std::string_view name;
  std::string_view shows;   ///< for a list
  std::string_view figure;  ///< of the Benanza paper that it corresponds to; empty: none
  std::string_view needs;   ///< options of `plumb run SUITE` that measure what it shows
  MatrixQuery query;
  bool front = false;  ///< latency against throughput over batches
};

[[nodiscard]] std::span<const MatrixView> matrix_views();
/// Finds a view by its name. Throws Error{kUser} that lists the names.
[[nodiscard]] const MatrixView& find_view(const std::string& name);

}  // namespace plumb::analysis
