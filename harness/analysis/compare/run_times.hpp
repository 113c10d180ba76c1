// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/bounds/result_set.hpp"
#include "harness/analysis/compare/minimum_effect.hpp"

namespace plumb::analysis {

/// Collects the times of a run's processes from its rows and its models' executions.
[[nodiscard]] RunTimes collect_run_times(const ResultSet& results,
                                         std::span<const ModelBounds> models);

/// Returns times as the store keeps them: JSON.
[[nodiscard]] std::string to_json(const RunTimes& times);
/// Parses what to_json() wrote. Throws Error{kUser} that names the field at fault.
[[nodiscard]] RunTimes run_times_from_json(std::string_view json);

/// Returns the index of the run in the middle of several. Runs are ordered by the mean of ln(time)
/// over the models' series, or without models over the layers'. Only series that every run has
/// count, and none of a model among its other shapes. Of an even number, it is the slower of the
/// two in the middle. Needs at least one run. Pure.
[[nodiscard]] std::size_t middle_run(std::span<const RunTimes> runs);

}  // namespace plumb::analysis
