// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/whatif/what_if.hpp"

namespace plumb::analysis {

/// A positive number with its 95% interval. Its unit is that of the quantity it belongs to.
struct Estimate {
  double value = 0.0;
  std::optional<double> low;  ///< absent: the number has no interval
  std::optional<double> high;
};

/// Returns a time as an estimate. Absent: it is not above zero, or not finite. An interval that
/// does not hold the time, or begins at zero, is left out.
[[nodiscard]] std::optional<Estimate> make_estimate(Seconds time,
                                                    const measure::Interval& interval);
[[nodiscard]] std::optional<Estimate> make_estimate(double value,
                                                    std::optional<double> low,
                                                    std::optional<double> high);

/// Returns `above` ÷ `below`, which were measured independently of each other. The distances of the
/// ends from the values are added in quadrature, as logarithms. No interval where one has none.
[[nodiscard]] Estimate ratio_of(const Estimate& above, const Estimate& below);

/// Returns factor ÷ value: a rate of a time.
[[nodiscard]] Estimate rate_of(double factor, const Estimate& value);

/// Returns the middle of what several runs found for one thing. Of an even number it is the
/// geometric mean of the two in the middle. One run keeps its own interval. Of two runs, the
/// interval spans both. From three on, it is Student's over the logarithms of the runs' values,
/// around the middle. Needs at least one. Pure.
[[nodiscard]] Estimate middle_of(std::span<const Estimate> runs);

/// What a run found of one model: times, bounds and speed-ups, without the layers behind them. It
/// is small, so that many runs are read at once.
struct ModelResults {
  struct BoundTime {
    results::BoundKind kind{};
    std::string mode;
    bool complete = false;
    std::optional<Estimate> seconds;  ///< of an incomplete bound: of the measured part
  };
  struct EndToEnd {
    std::string mode;
    results::Outcome outcome;
    std::optional<Estimate> seconds;  ///< median; absent: the outcome says why
    std::optional<Estimate> p99_seconds;
    bool disturbed = false;
  };
  /// What-if, by the mode that switches it on.
  struct Prediction {
    std::string name;
    std::string mode;
    std::optional<Estimate> speedup;
    std::string why_not;  ///< there is no prediction, and why
  };

  ModelInstance instance;
  std::vector<BoundTime> bounds;
  std::vector<EndToEnd> executions;
  std::vector<Prediction> predictions;
  std::string lacks;  ///< why a bound is not complete: "65 of 66 layers have a time; …"
};

[[nodiscard]] ModelResults summarize_results(const ModelBounds& bounds,
                                             const ModelWhatIfs& whatifs);

/// Returns the results of a run's models as the store keeps them: JSON.
[[nodiscard]] std::string to_json(std::span<const ModelResults> models);
/// Parses what to_json() wrote. Throws Error{kUser} that names the field at fault.
[[nodiscard]] std::vector<ModelResults> model_results_from_json(std::string_view json);

}  // namespace plumb::analysis
