// SPDX-License-Identifier: Apache-2.0
// Private to reporting: how a load by a scenario reads in tables and documents.
#pragma once

#include <string>
#include <vector>

#include "harness/results/load_execution.hpp"
#include "reporting/json_documents.hpp"

namespace plumb {

/// Writes the one figure: "90 % ≤ 12.30 ms", "81.5 queries/s (99 % ≤ 15 ms)", "97.2 samples/s".
[[nodiscard]] std::string score_text(const LoadExecution& load);

/// Writes "VALID", "INVALID", or why there is no result.
[[nodiscard]] std::string verdict_text(const LoadExecution& load);

/// Returns scenario, mode, verdict, score, median, 99 % latency and queries, for a table.
[[nodiscard]] std::vector<std::string> load_cells(const LoadExecution& load);

/// Returns an element of `executions` (DESIGN §6) whose `load` is the whole record.
[[nodiscard]] Json load_json(const LoadExecution& load);

}  // namespace plumb
