// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/compare/comparison_result.hpp"
#include "harness/analysis/history/run_series.hpp"
#include "harness/results/exclusion.hpp"
#include "harness/results/run.hpp"
#include "harness/stats/change_points.hpp"

namespace plumb::analysis {

/// Points that a change may move by as its history grows.
inline constexpr std::size_t kMaxMove = 5;

/// Returns whether one look at a history shows a change clearly enough to bother a person.
///
/// - Evidence: each of the `runs` was a look, and each look can err. So the expected number of
///   quiet series that ever show as much, (1 − confidence) × runs, must be 0.01 or less.
/// - Dwell: noise with two states looks like a step until it has come back. So levels must have
///   stood 30 runs on average, up to the change and the newest 120 runs. Larger steps need fewer:
///   1.2 ÷ the step, such as 12 runs for 10 %.
///
/// `points` are all changes of the look, ascending. Those near a run in `explained` are known to be
/// no noise, and do not count as levels. `change` is one of the points, and slower. Pure.
[[nodiscard]] bool shows_clearly(std::span<const stats::ChangePoint> points,
                                 const stats::ChangePoint& change,
                                 std::size_t runs,
                                 std::span<const std::size_t> explained);

/// History of one suite with one stack on one machine with one number of threads.
struct SuiteHistory {
  /// One metric over the runs: seconds, oldest first.
  struct Series {
    struct Point {
      results::RunId run;
      double seconds = 0.0;
      std::string variant = {};  ///< of a layer
    };
    std::string id;  ///< "layers/KEY", "models/SUBJECT/end_to_end/MODE/SCENARIO",
                     ///< "models/SUBJECT/KIND/MODE"
    std::vector<Point> points;
  };

  /// Series that the newest run's suite excludes: it is not judged.
  struct Excluded {
    std::string id;
    results::Exclusion exclusion;
  };

  RunSeries name;
  std::vector<results::RunRecord> runs;  ///< finished, oldest first
  std::vector<Series> series;            ///< points are of these runs
  std::vector<Excluded> excluded = {};   ///< by the newest run's suite; not among `series`
};

/// Change of a series in its current state.
struct SeriesChange {
  /// States of a change in a series.
  enum class State {
    kDetected,     ///< found in the history; five runs at least agree
    kConfirmed,    ///< by a comparison of its own; a person says so
    kAccepted,     ///< the new level is the baseline; a person says why
    kInvalid,      ///< noise and not a change; a person says so
    kEnvironment,  ///< the machine changed, not what is measured; starts a new segment
    kWentAway,     ///< later runs refute it
    kFixed,        ///< the level came back
  };

  /// Entry of the book of changes. The last entry of a run and series applies. Each has the state,
  /// so that an entry that assigns or notes something leaves it as it is.
  struct Record {
    std::string series;
    results::RunId run;  ///< first run of the new level
    State state = State::kDetected;
    std::string reason;  ///< a person's words
    double before = 0.0;
    double after = 0.0;
    std::string who = {};  ///< made the entry; empty: not known
    std::optional<std::string> assignee =
        {};                 ///< who looks after it from here on; absent: as before
    std::string note = {};  ///< empty: none
  };

  /// Words of a person about a change.
  struct Note {
    std::string who;
    std::string text;
  };

  std::size_t index = 0;  ///< first point of the new level
  results::RunId run;
  results::RunId run_before;  ///< the last run of the old level
  double before = 0.0;
  double after = 0.0;
  std::optional<double>
      confidence;  ///< absent: only the book knows it, the points no longer show it
  State state = State::kDetected;
  std::string reason;
  std::string assignee;     ///< who looks after it; empty: nobody
  std::vector<Note> notes;  ///< oldest first
  bool early = false;       ///< slower, and not clear enough yet to bother a person

  /// Returns whether the series is slower, and the change neither explained nor gone.
  [[nodiscard]] bool is_undecided() const;
  /// Returns whether the change needs attention: undecided, and no longer early.
  [[nodiscard]] bool is_open() const;
};

inline constexpr std::array kChangeStates{SeriesChange::State::kDetected,
                                          SeriesChange::State::kConfirmed,
                                          SeriesChange::State::kAccepted,
                                          SeriesChange::State::kInvalid,
                                          SeriesChange::State::kEnvironment,
                                          SeriesChange::State::kWentAway,
                                          SeriesChange::State::kFixed};

[[nodiscard]] std::string_view to_text(SeriesChange::State state);  ///< "detected", "went_away", …

[[nodiscard]] std::optional<SeriesChange::State> parse_change_state(std::string_view text);
[[nodiscard]] std::string state_text(const SeriesChange& change);  ///< "detected, early"

/// Findings about one history.
struct SeriesFinding {
  /// Step that too few runs show yet: a reason to measure again.
  struct Suspicion {
    results::RunId run;
    double before = 0.0;
    double after = 0.0;
  };

  std::string id;
  std::size_t points = 0;
  std::vector<SeriesChange> changes;  ///< oldest first
  std::vector<Suspicion> suspicions;
  std::optional<stats::Detection::Creep> creep;  ///< since the last accepted change
  results::RunId creep_since;                    ///< the run of the best level
  std::optional<stats::Detection::Trend>
      trend;  ///< with its slope; also one that is smaller than creep
  bool two_states = false;
  std::vector<stats::Detection::StateChange> state_changes;  ///< of the two states; shown, not kept
                                                             ///< in the book
  std::optional<std::vector<stats::ChangePoint>>
      variance_changes;                    ///< of the scatter; if requested
  std::vector<SeriesChange::Record> news;  ///< to be entered into the book
};

/// Judges a history with its book of changes (oldest first; entries of other series are skipped).
///
/// - A change point that goes the same way as an entry within five runs is the change of that
///   entry, and has its state. Other change points are new.
/// - A detected slow-down is early until two runs in a row, with their histories, show it clearly
///   (shows_clearly()). What a person confirmed, assigned or noted is not early.
/// - An undecided change of the book that is no longer found went away.
/// - An undecided slow-down whose level later came back by three quarters is fixed.
/// - A creep is looked for in the segment since the last change that was accepted or blamed on the
///   environment. An undecided step that explains it takes precedence.
/// - Changes of the scatter are looked for with `variance` only.
///
/// Pure.
[[nodiscard]] SeriesFinding judge_series(const SuiteHistory::Series& history,
                                         std::span<const SeriesChange::Record> book,
                                         bool variance = false);

/// Returns the family of kernels that a series is of: the operator of a layer and the family of its
/// implementation, "conv brgemm". Of what is no layer: "models" or "benchmarks".
[[nodiscard]] std::string kernel_family(const std::string& series, std::string_view variant);

/// Change that waits for a person, with what is known of its cause.
struct OpenChange {
  /// Fact that changed where a change begins, and may have caused it.
  struct Cause {
    /// Kinds of facts that may cause a change, the most telling first.
    enum class Kind { kCommit, kLibrary, kDriver, kMachine };

    Kind kind = Kind::kMachine;
    std::string fact;
    std::string before;  ///< empty: absent
    std::string after;
  };

  /// Open changes that probably have one cause.
  struct Group {
    std::vector<Cause> causes;  ///< what most of the changes have in common, likeliest first
    std::vector<std::string> families;  ///< of kernels, each once
    std::vector<OpenChange> changes;    ///< the largest first
  };

  RunSeries history;
  std::string series;
  SeriesChange change;
  Timestamp started{};  ///< of the run where it begins
  std::string family;   ///< of its kernels
  std::vector<Cause> causes;
};

[[nodiscard]] std::string_view to_text(OpenChange::Cause::Kind kind);  ///< "commit", "library", …

/// Lists what may have caused a change between two runs. Names, the boot and this program are left
/// out.
[[nodiscard]] std::vector<OpenChange::Cause> possible_causes(const results::Environment& before,
                                                             const results::Environment& after);

/// A change with its history, for whoever looks into it.
struct ChangeEvidence {
  OpenChange change;
  results::RunHeader before;      ///< of the last run of the old level
  results::RunHeader after;       ///< of the first run of the new one
  std::vector<double> seconds;    ///< of every run, oldest first
  std::size_t changed_there = 0;  ///< series of the history that changed in the same run
  std::size_t series = 0;         ///< of the history
};

/// Groups open changes by their likely cause. Two belong together where the same fact took the same
/// value, such as a commit or a library. Where no fact changed, they do if they begin in one run
/// and have one family of kernels. The largest group comes first. Pure.
[[nodiscard]] std::vector<OpenChange::Group> group_changes(std::vector<OpenChange> changes);

}  // namespace plumb::analysis
