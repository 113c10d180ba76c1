// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/results/run.hpp"
#include "harness/store/sqlite/newest_runs.hpp"
#include "harness/store/sqlite/statement_cache.hpp"

namespace plumb {

/// Writer and reader of the tables runs, environments, suites and tags. The caller opens the
/// transactions.
class RunTable {
 public:
  /// Data of a run that is needed to write to it.
  struct Entry {
    NewestRuns::Run run;
    std::int64_t id_checksum = 0;  ///< ContentHash of the run's id
    std::int64_t next_position = 0;
    RunState state = RunState::kRunning;
  };
  enum class Detail {
    kBrief,  ///< without the resolved suite, which may be large
    kFull,
  };

  explicit RunTable(StatementCache& statements) : statements_(statements) {}

  /// Adds a run, in the state running. Throws Error{kInternal} if there is a run with this id.
  void insert(const RunHeader& header);
  [[nodiscard]] std::optional<Entry> find(const RunId& run);
  /// Returns the data of a run. Throws Error{kInternal} if there is no such run.
  [[nodiscard]] Entry require(const RunId& run);
  /// Counts rows that were just stored and sets the run's state to running.
  void count_rows(const Entry& entry, std::span<const Measurement> rows);
  void set_state(std::int64_t number, RunState state, std::optional<Timestamp> finished);

  /// Returns all runs, newest start first.
  [[nodiscard]] std::vector<RunRecord> records(Detail detail);
  [[nodiscard]] RunRecord record(const RunId& run, Detail detail);
  /// Resolves "@latest", an id, a tag or a unique prefix of an id. Throws Error{kUser} that lists
  /// the newest runs and tags.
  [[nodiscard]] RunId resolve(const std::string& name);

  /// Assigns a tag to a run, and takes it from another run that has it. Throws Error{kUser} for a
  /// text that cannot be a tag.
  void tag(std::int64_t number, const std::string& tag);
  [[nodiscard]] bool has_tag(const std::string& tag);

 private:
  [[nodiscard]] std::int64_t environment_number(const Environment& environment);
  [[nodiscard]] std::string what_there_is();
  StatementCache& statements_;
};

/// Returns the checksum of a run's header, which does not change while the run goes on.
[[nodiscard]] std::int64_t run_checksum(const RunHeader& header);

}  // namespace plumb
