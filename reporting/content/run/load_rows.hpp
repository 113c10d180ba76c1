// SPDX-License-Identifier: Apache-2.0
// Private to reporting: the load of a scenario, in tables and documents.
#pragma once

#include <string>

#include "harness/results/scenario_result.hpp"

namespace plumb::reporting {

/// Returns the score of a load: "90 % ≤ 12.30 ms", "81.5 queries/s (99 % ≤ 15 ms)", "97.2
/// samples/s".
[[nodiscard]] std::string score_text(const results::ScenarioResult& load);

/// Returns "VALID", "INVALID", or the outcome of a load that was not executed.
[[nodiscard]] std::string verdict_text(const results::ScenarioResult& load);

}  // namespace plumb::reporting
