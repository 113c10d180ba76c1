// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "harness/analyze/bounds.hpp"
#include "harness/analyze/learned_noise.hpp"
#include "harness/analyze/result_set.hpp"

namespace plumb {

/// Collects the times of a run's processes from its rows and its models' executions.
[[nodiscard]] RunTimes collect_run_times(const ResultSet& results,
                                         std::span<const ModelBounds> models);

/// Names the records that a run keeps of its processes' times.
inline constexpr const char* kRunTimesRecord = "run_times";
/// Writes times as the store keeps them: JSON.
[[nodiscard]] std::string to_json(const RunTimes& times);
/// Reads what to_json wrote. Throws Error{kUser} that names the field at fault.
[[nodiscard]] RunTimes run_times_from_json(std::string_view json);

}  // namespace plumb
