// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/analysis/matrix/model_results.hpp"
#include "harness/results/run.hpp"
#include "harness/stats/statistical_tests.hpp"

namespace plumb::analysis {

/// What the cells of a matrix hold.
enum class Quantity {
  kTime,              ///< end to end, median
  kP99,               ///< end to end, 99th percentile
  kThroughput,        ///< batch ÷ time: inputs a second
  kBound,             ///< a bound or an estimate
  kGap,               ///< time ÷ bound
  kNormalizedBound,   ///< bound ÷ time, as in the Benanza paper
  kSpeedup,           ///< time of the mode plain ÷ time of the mode
  kPredictedSpeedup,  ///< the same as a what-if predicts it
};
[[nodiscard]] std::string_view to_text(Quantity quantity);  ///< "time", "normalized_bound", …
[[nodiscard]] std::optional<Quantity> parse_quantity(std::string_view text);
[[nodiscard]] std::vector<std::string> quantity_names();

/// Returns the field that holds a quantity in JSON and CSV: "seconds", "inputs_per_second" or
/// "ratio".
[[nodiscard]] std::string_view unit_of(Quantity quantity);
/// Returns whether a quantity is made of a bound.
[[nodiscard]] bool has_bound(Quantity quantity);

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
inline constexpr const char* kFirstColumn = "@first";

/// Results of many runs beside each other.
struct Matrix {
  /// Value of a quantity, or why there is none. It is never both.
  struct Value {
    /// Reason why a cell of a matrix has no value.
    struct Missing {
      enum class Kind {
        kNotInSuite,    ///< no run of this row and column has it in its suite
        kNotExecuted,   ///< in the suite, but not executed in this mode
        kFailed,        ///< executed, with an outcome other than ok
        kIncomplete,    ///< the bound lacks the time of a layer
        kNoBound,       ///< no bound of this kind holds in this mode
        kNotPredicted,  ///< the what-if says why not
        kNoReference,   ///< the column that others are divided by has no value
        kNotAnalysed,   ///< the run's results could not be read
      };
      Kind kind = Kind::kNotInSuite;
      std::string word;                       ///< two or three words, for the cell
      std::string reason;                     ///< a sentence
      std::string mode;                       ///< which to execute; empty: executing does not help
      std::optional<std::size_t> run;         ///< index of the run whose suite has it
      std::optional<ModelInstance> instance;  ///< in that suite
    };

    std::optional<Estimate> estimate;
    Missing missing;
    bool disturbed = false;  ///< on a disturbed host
  };

  /// A run as a matrix sees it.
  struct Run {
    results::RunHeader header;
    results::RunState state = results::RunState::kFinished;
    std::vector<ModelResults> models;  ///< every model of its suite
    std::string problem;               ///< non-empty: the results could not be read, and why
  };

  /// What a matrix is to show.
  struct Query {
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

  /// Value of one model of one run, in one mode and by one kind of bound.
  struct Sample {
    Coordinates place;
    std::size_t run = 0;
    const ModelInstance* instance = nullptr;  ///< of the runs
    Value value;
  };

  /// One cell. It has a value or a reason, never zero for one that is missing.
  struct Cell {
    std::optional<Estimate> value;
    Value::Missing missing;  ///< without a value: why
    std::size_t runs = 0;    ///< behind the value
    std::size_t models = 0;  ///< behind a mean over models
    /// Runs, or of a mean over models the models, that have no value. `missing` says why of the
    /// last.
    std::size_t left_out = 0;
    bool disturbed = false;
  };

  /// One row: what it is of, and its cells.
  struct Row {
    std::string name;
    std::vector<Cell> cells;  ///< one a column
  };

  /// Geometric mean of one column. Only means of ratios have an interval.
  struct Mean {
    std::optional<stats::GeometricMean> own;     ///< over the rows that have a value in this column
    std::optional<stats::GeometricMean> common;  ///< over the rows that have one in every column
  };

  Query query;  ///< with the axes that were chosen
  std::vector<std::string> columns;
  std::vector<Row> rows;
  std::vector<Mean> means;                           ///< one a column; none: the rows are no models
  std::optional<std::size_t> reference;              ///< column that the others are divided by
  bool shared = false;                               ///< a cell has several runs
  std::vector<std::pair<Axis, std::string>> common;  ///< places that all results share
  /// Axes on which results differ along with the rows or columns: a stack that only one system has.
  std::vector<Axis> along;
};

[[nodiscard]] std::string_view to_text(Matrix::Value::Missing::Kind kind);  ///< "not_in_suite", …

/// Returns a quantity of one model of one run. `mode` is that of the execution, `bound` the kind of
/// bound. A time and a bound of one ratio are of the same run. Pure.
[[nodiscard]] Matrix::Value evaluate(Quantity quantity,
                                     const std::string& mode,
                                     results::BoundKind bound,
                                     const ModelResults& model);

/// Returns the places of runs on the axes that all their models share: runtime, stack, system and
/// threads. Equal names mean equal identities. Stacks or systems of one name that differ are told
/// apart by the facts in which they differ. Pure.
[[nodiscard]] std::vector<Coordinates> place_runs(std::span<const Matrix::Run> runs);

/// Evaluates a query for every model of every run, without what `only` leaves out. The samples
/// refer to the runs. Throws Error{kUser} if nothing is left, naming what there is.
[[nodiscard]] std::vector<Matrix::Sample> collect_samples(std::span<const Matrix::Run> runs,
                                                          const Matrix::Query& query);

/// Lists the places of samples on an axis: numbers by size, names in the order in which they occur.
[[nodiscard]] std::vector<std::string> list_places(std::span<const Matrix::Sample> samples,
                                                   Axis axis);

/// Makes a cell of what each run found for it, oldest first: the middle of the values. Pure.
[[nodiscard]] Matrix::Cell middle_cell(std::span<const Matrix::Value* const> runs);

/// Makes the geometric mean over cells of several models. Pure.
[[nodiscard]] Matrix::Cell mean_cell(std::span<const Matrix::Cell> models);

/// Divides a cell by that of a reference, which has this name. Pure.
[[nodiscard]] Matrix::Cell relative_cell(Matrix::Cell cell,
                                         const Matrix::Cell& reference,
                                         const std::string& name);

/// Builds a matrix. Whatever the results differ in, beside rows and columns, becomes part of a
/// row's name, so that no cell mixes unlike results. Throws Error{kUser} if nothing is left by
/// `only`, if both axes are one, or if no column has the name of `relative_to`. Pure.
[[nodiscard]] Matrix make_matrix(std::span<const Matrix::Run> runs, Matrix::Query query);

/// Contents of a report on a matrix.
struct MatrixReport {
  /// A query by name. A new view is one row of the table.
  struct View {
    std::string_view name;
    std::string_view shows;   ///< for a list
    std::string_view figure;  ///< of the Benanza paper that it corresponds to; empty: none
    std::string_view needs;   ///< options of `plumb run SUITE` that measure what it shows
    Matrix::Query query;
    bool front = false;  ///< latency against throughput over batches
  };

  /// Latency against throughput of one row over its batches.
  struct Front {
    /// Whether a latency keeps a limit, by its interval.
    enum class Verdict {
      kKept,       ///< the whole interval is within the limit
      kUncertain,  ///< the limit lies inside the interval
      kMissed,     ///< the whole interval is beyond the limit
    };

    /// One batch of a model.
    struct Point {
      std::int64_t batch = 1;
      Estimate seconds;
      Estimate inputs_per_second;
      bool on_front = false;         ///< no other batch is both as fast and of as high a throughput
      std::optional<Verdict> limit;  ///< absent: there is no limit
    };

    std::string name;
    std::vector<Point> points;  ///< by batch
    /// Batches without a value. They are on no front, and no batch is off the front for them.
    struct Absent {
      std::int64_t batch = 1;
      Matrix::Value::Missing missing;
    };
    std::vector<Absent> absent;
    std::optional<std::size_t> best;  ///< highest throughput among the points that keep the limit;
                                      ///< absent: none keeps it, or there is none
  };

  /// Command that measures what some cells of a matrix lack.
  struct MissingCommand {
    std::string command;
    std::size_t cells = 0;
  };

  Matrix matrix;
  std::vector<Matrix::Run> runs;
  const View* view = nullptr;  ///< of the table of views; null: none
  std::optional<std::vector<Front>> fronts;
  std::optional<Seconds> limit;          ///< of the latency of the fronts
  std::vector<MissingCommand> commands;  ///< the one for most cells first
};

[[nodiscard]] std::span<const MatrixReport::View> matrix_views();

/// Finds a view by its name. Throws Error{kUser} that lists the names.
[[nodiscard]] const MatrixReport::View& find_view(const std::string& name);

[[nodiscard]] std::string_view to_text(MatrixReport::Front::Verdict verdict);  ///< "kept", …

/// Computes the Pareto fronts of a matrix of times whose columns are batches: one front a row.
/// Points are compared by their values, and with the limit by their intervals. Pure.
[[nodiscard]] std::vector<MatrixReport::Front> pareto_fronts(const Matrix& times,
                                                             std::optional<Seconds> limit);

}  // namespace plumb::analysis
