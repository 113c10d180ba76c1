// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "harness/analysis/report/json_document.hpp"
#include "harness/analysis/report/run_report.hpp"

namespace plumb::analysis {

/// Returns the facts of an environment under its id, for a document that names the id.
[[nodiscard]] Json environments_json(const results::Environment& environment);

/// Returns the bounds of all models of a report, in its order.
[[nodiscard]] std::vector<ModelBounds> all_bounds(const RunReport& report);

[[nodiscard]] Json run_json(const results::RunRecord& run);

/// Returns what a run's suite excludes, and whether it has expired on a day.
[[nodiscard]] Json exclusions_json(std::span<const results::Exclusion> exclusions,
                                   std::string_view day);

/// Returns bounds and executions of a run's models, and its single layers. The store keeps it for
/// each model, and `plumb bound --json` prints it.
[[nodiscard]] Json bounds_document(const RunReport& report);
/// Returns what-ifs of a run's models. The store keeps it for each model, and `plumb whatif --json`
/// prints it.
[[nodiscard]] Json what_ifs_document(const RunReport& report);

}  // namespace plumb::analysis
