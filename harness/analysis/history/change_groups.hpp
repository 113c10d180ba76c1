// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/compare/environment_difference.hpp"
#include "harness/analysis/history/run_series.hpp"
#include "harness/analysis/history/series_history.hpp"

namespace plumb::analysis {

/// Kinds of facts that may cause a change, the most telling first.
enum class CauseKind { kCommit, kLibrary, kDriver, kMachine };
[[nodiscard]] std::string_view to_text(CauseKind kind);  ///< "commit", "library", …

/// Fact that changed where a change begins, and may have caused it.
struct PossibleCause {
  CauseKind kind = CauseKind::kMachine;
  std::string fact;
  std::string before;  ///< empty: absent
  std::string after;
};

/// Lists what may have caused a change between two runs. Names, the boot and this program are left
/// out.
[[nodiscard]] std::vector<PossibleCause> possible_causes(const results::Environment& before,
                                                         const results::Environment& after);

/// Returns the family of kernels that a series is of: the operator of a layer and the family of its
/// implementation, "conv brgemm". Of what is no layer: "models" or "benchmarks".
[[nodiscard]] std::string kernel_family(const std::string& series, std::string_view variant);

/// Change that waits for a person, with what is known of its cause.
struct OpenChange {
  RunSeries history;
  std::string series;
  SeriesChange change;
  Timestamp started{};  ///< of the run where it begins
  std::string family;   ///< of its kernels
  std::vector<PossibleCause> causes;
};

/// A change with its history, for whoever looks into it.
struct ChangeEvidence {
  OpenChange change;
  results::RunHeader before;      ///< of the last run of the old level
  results::RunHeader after;       ///< of the first run of the new one
  std::vector<double> seconds;    ///< of every run, oldest first
  std::size_t changed_there = 0;  ///< series of the history that changed in the same run
  std::size_t series = 0;         ///< of the history
};

/// Open changes that probably have one cause.
struct ChangeGroup {
  std::vector<PossibleCause> causes;  ///< what most of the changes have in common, likeliest first
  std::vector<std::string> families;  ///< of kernels, each once
  std::vector<OpenChange> changes;    ///< the largest first
};

/// Groups open changes by their likely cause. Two belong together where the same fact took the same
/// value, such as a commit or a library. Where no fact changed, they do if they begin in one run
/// and have one family of kernels. The largest group comes first. Pure.
[[nodiscard]] std::vector<ChangeGroup> group_changes(std::vector<OpenChange> changes);

}  // namespace plumb::analysis
