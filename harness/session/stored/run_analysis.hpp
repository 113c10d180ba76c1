// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/coschedule/co_schedule.hpp"
#include "harness/analysis/matrix/model_results.hpp"
#include "harness/analysis/report/reports.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Reads the newest times of keys with fewer threads than a run has. They come from runs whose
/// environments equal the run's but for `threads`. None for a run on a GPU, which its layers do not
/// share by threads.
[[nodiscard]] analysis::CoSchedule::Scaling read_scaling(const store::Store& store,
                                                         const results::RunHeader& run,
                                                         std::span<const model::LayerKey> keys);

/// A run's rows and executions, those among other shapes too. What was measured on a slowed-down
/// host is marked as disturbed.
struct RunResults {
  std::vector<results::StoredMeasurement> rows;
  analysis::ModelExecutions executions;
};

/// Reads a run's results. A host is slow against the fastest pace of the run, or against `fastest`,
/// the pace of another run, if that is less.
[[nodiscard]] RunResults read_results(const store::Store& store,
                                      const results::RunId& run,
                                      std::optional<double> fastest = std::nullopt);

/// Reads the loads that a run has stored, by subject, in the order stored.
[[nodiscard]] std::map<std::string, std::vector<results::ScenarioResult>> read_loads(
    const store::Store& store, const results::RunId& run);

/// Analyses a stored run: bounds and what-ifs of each model. `only` names some models; empty: all.
/// Throws Error{kUser} if the run has none of them.
[[nodiscard]] analysis::RunReport analyze_run(const SessionContext::Archive& archive,
                                              const results::RunRecord& run,
                                              const std::vector<std::string>& only,
                                              RunResults run_results);
[[nodiscard]] analysis::RunReport analyze_run(const SessionContext::Archive& archive,
                                              const results::RunRecord& run,
                                              const std::vector<std::string>& only);

/// Returns what a run found of each model, without the layers behind it.
[[nodiscard]] std::vector<analysis::ModelResults> summarize_models(
    const analysis::RunReport& report);

/// Stores the bounds and what-ifs of a report as derived records, with the analysis version and
/// their input rows. Stores the times of the run's processes too, from which noise is learned, and
/// what it found of its models, which matrices read.
void store_analysis(store::Store& store, const analysis::RunReport& report);

}  // namespace plumb::session
