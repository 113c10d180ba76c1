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

/// Writes and reads the tables runs, environments, suites and tags. The caller opens the
/// transactions.
class RunTable {
 public:
  /// The data of a run that is needed to write to it.
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

  /// Throws Error{kInternal} if there is a run of this id.
  void insert(const RunHeader& header);
  [[nodiscard]] std::optional<Entry> find(const RunId& run);
  /// Throws Error{kInternal} if there is no such run.
  [[nodiscard]] Entry require(const RunId& run);
  /// Counts rows that were just stored and makes the run a running one.
  void count_rows(const Entry& entry, std::span<const Measurement> rows);
  void set_state(std::int64_t number, RunState state, std::optional<Timestamp> finished);

  /// Returns all runs, the last started first.
  [[nodiscard]] std::vector<RunRecord> records(Detail detail);
  [[nodiscard]] RunRecord record(const RunId& run, Detail detail);
  /// Resolves "@latest", an id, a tag, a unique prefix. Throws Error{kUser} listing what there is.
  [[nodiscard]] RunId resolve(const std::string& name);

  /// Assigns a tag to a run. Another run that had it loses it. Throws Error{kUser} for a text that
  /// cannot be a tag.
  void tag(std::int64_t number, const std::string& tag);
  [[nodiscard]] bool has_tag(const std::string& tag);

 private:
  [[nodiscard]] std::int64_t environment_number(const Environment& environment);
  [[nodiscard]] std::string what_there_is();
  StatementCache& statements_;
};

/// Returns the checksum of a run's header: all that does not change while it runs.
[[nodiscard]] std::int64_t run_checksum(const RunHeader& header);

}  // namespace plumb
