// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/profile/function_growth.hpp"
#include "harness/analysis/report/run_report.hpp"
#include "harness/base/units.hpp"
#include "harness/results/profile/named_profile.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Kind of the record that says what a run's profiling did.
inline constexpr const char* kProfilingRecord = "profiling";

/// Report on the profiles that a run took, or why it took none.
struct ProfilingRecord {
  std::size_t models = 0;    ///< to be profiled
  std::size_t profiled = 0;  ///< of these
  Seconds spent{};           ///< in the pass, with the start of its workers
  Seconds allowed{};         ///< for it
  std::string reason;        ///< why not all were profiled; empty: all were
};

void put_profiling(store::Store& store, const results::RunId& run, const ProfilingRecord& record);
/// Returns the newest record of a run. Absent: the run was not to take profiles, or is older.
[[nodiscard]] std::optional<ProfilingRecord> read_profiling(const store::Store& store,
                                                            const results::RunId& run);

/// Returns the newest profile that a run keeps of the model of this name or subject. Empty: the run
/// has profiles of one model only. Absent: the run has none. Throws Error{kUser} that lists the
/// models, if several are meant.
[[nodiscard]] std::optional<results::StoredProfile> find_profile(const store::Store& store,
                                                                 const results::RunId& run,
                                                                 const std::string& model);

/// Reads a profile that a run keeps, as find_profile() does. Throws Error{kUser} that lists the
/// models, or says why the run has no profile.
[[nodiscard]] results::StoredProfile read_profile(const store::Store& store,
                                                  const results::RunId& run,
                                                  const std::string& model);

/// Adds the newest profile that the run of a report keeps of each model.
void add_profiles(const store::Store& store, analysis::RunReport& report);

/// Runs that are read at most: the newest.
inline constexpr std::size_t kMaxProfiledRuns = 500;

/// Reads the profiles of the runs that finished and started after a moment. Those that were sampled
/// while they were timed are left out: their times include the samples' cost.
[[nodiscard]] std::vector<analysis::DatedProfile> read_dated_profiles(const store::Store& store,
                                                                      Timestamp after);

/// Choice of stored runs whose profiles of one model are merged.
struct MergedRunsChoice {
  std::string runs;  ///< one, or several as find_named_runs() takes them
  /// Runs in all, where one is named: it, and the newest ones before it of its suite and
  /// environment that have a profile of the model.
  std::size_t newest = 1;
  std::string model;  ///< name or subject; empty: the runs have profiles of one model only
};

/// Profiles of a model by several runs, of each environment, mode and clock one.
struct MergedRuns {
  std::vector<results::NamedProfile> profiles;  ///< that of the newest run last
  std::size_t without = 0;                      ///< runs that keep no profile of the model
};

/// Runs that are merged at most.
inline constexpr std::size_t kMaxMergedRuns = 500;

/// Reads the profiles of the chosen runs one after the other, and merges them (RunMerger). Throws
/// Error{kUser} for a run that is not there, if no run has a profile of the model, and if the
/// profiles are of several models.
[[nodiscard]] MergedRuns read_merged_runs(const store::Store& store,
                                          const MergedRunsChoice& choice);

}  // namespace plumb::session
