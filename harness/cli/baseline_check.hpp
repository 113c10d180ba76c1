// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/compare/metric_comparison.hpp"
#include "harness/analysis/report/reports.hpp"
#include "harness/cli/command.hpp"
#include "harness/results/scenario_result.hpp"
#include "harness/session/run/suite_run.hpp"

namespace CLI {
class App;
}

namespace plumb::cli {

/// Returns the exit status of a gate. It is 1 for a break or a regression, else 75 if something
/// stays open or nothing was judged, else 0.
[[nodiscard]] int gate_status(std::span<const analysis::ComparisonVerdict> verdicts);

/// Returns the exit status for the loads of a run. It is 1 if one failed or its worker died, 3 if
/// one was refused, 75 if one is inconclusive, else 0. Only the newest of each model, mode and
/// scenario counts.
[[nodiscard]] int compute_exit_status(
    const std::map<std::string, std::vector<results::ScenarioResult>>& loads);

/// Comparison of new runs with one baseline. Without a baseline it compares nothing.
class BaselineCheck {
 public:
  /// Options for comparing what `plumb run` measured with a baseline.
  struct Options {
    std::string baseline;             ///< a run: id, prefix, tag; empty: nothing
    std::vector<std::string> varied;  ///< what differs on purpose
    std::vector<std::string> outputs;
    bool gate = false;
    std::string confirm = "auto";  ///< auto, never, or the number of fresh processes
    results::CommitLink commits;   ///< for the reports
  };

  /// Finds the baseline and the reports' formats, before anything is measured. `@latest` is the
  /// newest run at that time. Throws Error{kUser} if there is no such run or format, or if several
  /// runs would have one report. Keeps a reference to `options`.
  BaselineCheck(const Options& options, const store::Store& store, std::size_t runs);

  /// Returns the run to compare with. Absent: there is none.
  [[nodiscard]] const std::optional<results::RunId>& baseline() const { return baseline_; }
  /// Compares a stored run, writes its reports, and stores the comparison. Absent: there is no
  /// baseline. Throws Error{kRefused} for unlike environments or suites.
  [[nodiscard]] std::optional<analysis::ComparisonReport> check(store::Store& store,
                                                                const session::ModelSource& models,
                                                                const results::RunId& run) const;
  /// Returns how suspects of a run are measured again. Absent: they are not.
  [[nodiscard]] std::optional<session::SuiteRun::SuspectConfirmation::Plan> confirmation() const;
  /// Returns the gate's exit status for a comparison; 0 without a gate.
  [[nodiscard]] int status_of(const analysis::ComparisonReport& report) const;

 private:
  const Options& options_;
  std::optional<results::RunId> baseline_;
};

void add_baseline_options(CLI::App& command, BaselineCheck::Options& options);

/// Compares each run with the baseline, if there is one, and sets the gate's exit status. With
/// `--json` it prints one document of the runs and their comparisons, even if the last one is
/// refused. Otherwise it prints the comparisons alone. Throws as BaselineCheck::check() does.
void compare_with_baseline(CommandContext& context,
                           const BaselineCheck& baseline,
                           store::Store& store,
                           std::span<const analysis::RunReport> reports);

}  // namespace plumb::cli
