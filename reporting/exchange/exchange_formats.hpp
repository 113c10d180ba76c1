// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <map>
#include <string>

#include "harness/analysis/history/series_history.hpp"
#include "harness/results/run.hpp"

namespace plumb::reporting {

/// Returns a series' name for another tool. It is that of an imported benchmark as it was, or else
/// the series' id.
[[nodiscard]] std::string exchanged_name(const std::string& series);

/// Writes the CSV that Apache Otava analyses. There is a line for each run, with `time`, `run`,
/// `version` and a column of seconds for each series. What a run did not measure is empty.
void write_otava(const analysis::SuiteHistory& history, std::ostream& out);

/// Writes the `data.js` of github-action-benchmark, with the unit "s". Runs without a version have
/// their id as commit.
void write_benchmark_action(const analysis::SuiteHistory& history, std::ostream& out);

/// Returns the results folder of airspeed velocity as texts by path: its benchmarks, the machine,
/// and a file for each commit. Of runs of one commit the last is taken. Names begin with "time_",
/// as asv's do.
[[nodiscard]] std::map<std::string, std::string> asv_files(const analysis::SuiteHistory& history);

}  // namespace plumb::reporting
