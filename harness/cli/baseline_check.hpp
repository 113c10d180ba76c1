// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analyze/confirmation.hpp"
#include "harness/cli/command.hpp"
#include "harness/store/store.hpp"
#include "reporting/comparison_report.hpp"

namespace CLI {
class App;
}

namespace plumb {

/// Options for comparing what `plumb run` measured with a baseline.
struct BaselineOptions {
  std::string baseline;             ///< a run: id, prefix, tag; empty: nothing
  std::vector<std::string> varied;  ///< what differs on purpose
  std::vector<std::string> outputs;
  bool gate = false;
  std::string confirm = "auto";  ///< auto, never, or the number of fresh processes
};
void add_baseline_options(CLI::App& command, BaselineOptions& options);

/// Compares new runs with a baseline.
class BaselineCheck {
 public:
  /// Finds the baseline and the reports' formats before anything is measured: `@latest` is the
  /// newest run of now. Throws Error{kUser} if there is no such run or format, or if several runs
  /// were to have one report.
  BaselineCheck(const BaselineOptions& options, const Store& store, std::size_t runs);

  /// Compares a run that is kept already; writes its reports and the store's record. Absent: there
  /// is no baseline. Throws Error{kRefused} for unlike environments or suites.
  [[nodiscard]] std::optional<RunComparisonReport> check(Store& store, const RunId& run) const;
  /// Returns how many fresh processes measure suspects again; 0: none do.
  [[nodiscard]] std::size_t confirming_processes() const;
  /// Finds what a run that is measured already must confirm; nothing where it cannot be compared,
  /// which check() says.
  [[nodiscard]] Suspects suspects(const Store& store, const RunId& run, SuspectRule rule) const;
  /// Returns the baseline's header. There must be a baseline.
  [[nodiscard]] RunHeader header(const Store& store) const;
  /// Keeps what was measured again, from the process after `after_process` on.
  void put(Store& store,
           const RunId& run,
           std::int64_t after_process,
           const Suspects& suspects) const;
  /// Keeps what pairs of processes measured of the suspects.
  void put(Store& store,
           const RunId& run,
           const PairedConfirmation& pairs,
           const Suspects& suspects) const;
  /// Returns the gate's exit status of a comparison; 0 without a gate.
  [[nodiscard]] int status_of(const RunComparisonReport& report) const;

 private:
  const BaselineOptions& options_;
  std::optional<RunId> baseline_;
};

/// Compares each run with the baseline, if there is one, and sets the gate's exit status. Prints
/// what `--json` promises: one document, of which the comparisons are part, even if the last of
/// them is refused; else the comparisons alone. Throws as BaselineCheck::check() does.
void compare_with_baseline(CommandContext& context,
                           const BaselineCheck& baseline,
                           Store& store,
                           std::span<const RunReport> reports);

}  // namespace plumb
