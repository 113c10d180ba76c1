// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/matrix/estimate.hpp"
#include "harness/analysis/whatif/what_if.hpp"

namespace plumb::analysis {

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

/// Kind of the record that keeps what a run found of its models: one for each run, so that a matrix
/// reads one record a run.
inline constexpr const char* kModelResultsRecord = "model_results";
/// Returns the results of a run's models as the store keeps them: JSON.
[[nodiscard]] std::string to_json(std::span<const ModelResults> models);
/// Parses what to_json() wrote. Throws Error{kUser} that names the field at fault.
[[nodiscard]] std::vector<ModelResults> model_results_from_json(std::string_view json);

}  // namespace plumb::analysis
