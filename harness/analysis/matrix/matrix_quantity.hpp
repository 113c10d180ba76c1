// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/matrix/model_results.hpp"

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

/// Reason why a cell of a matrix has no value.
struct MissingValue {
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
[[nodiscard]] std::string_view to_text(MissingValue::Kind kind);  ///< "not_in_suite", …

/// Value of a quantity, or why there is none. It is never both.
struct MatrixValue {
  std::optional<Estimate> estimate;
  MissingValue missing;
  bool disturbed = false;  ///< on a disturbed host
};

/// Returns a quantity of one model of one run. `mode` is that of the execution, `bound` the kind of
/// bound. A time and a bound of one ratio are of the same run. Pure.
[[nodiscard]] MatrixValue evaluate(Quantity quantity,
                                   const std::string& mode,
                                   results::BoundKind bound,
                                   const ModelResults& model);

}  // namespace plumb::analysis
