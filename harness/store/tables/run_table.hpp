// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/results/run.hpp"
#include "harness/store/tables/connection.hpp"
#include "harness/store/tables/run_row.hpp"

namespace plumb::store {

/// Throws Error{kUser} for a text that cannot be a tag or a name of a run.
void require_tag_text(const std::string& text);

/// Writer and reader of the tables runs, environments, suites and tags. The caller opens the
/// transactions.
class RunTable {
 public:
  using Entry = RunEntry;
  enum class Detail {
    kBrief,  ///< without the resolved suite, which may be large
    kFull,
  };

  explicit RunTable(StatementCache& statements) : statements_(statements) {}

  /// Adds a run, in the state running. Throws Error{kInternal} if there is a run with this id.
  void insert(const results::RunHeader& header);
  /// Throws Error{kEnvironment} if the data do not match their checksum.
  [[nodiscard]] std::optional<Entry> find(const results::RunId& run);
  /// Returns the data of a run. Throws Error{kInternal} if there is no such run.
  [[nodiscard]] Entry require(const results::RunId& run);
  /// Counts rows that were just stored and sets the run's state to running.
  void count_rows(Entry& entry, std::span<const results::Measurement> rows);
  /// Stores what changes while a run goes on, with its checksum.
  void store(const Entry& entry);
  /// Computes the checksums of all runs and tags that have none: those of an older schema.
  void guard_all();

  /// Returns all runs, newest start first.
  [[nodiscard]] std::vector<results::RunRecord> records(Detail detail);
  [[nodiscard]] results::RunRecord record(const results::RunId& run, Detail detail);
  /// Resolves "@latest", an id, a tag or a unique prefix of an id. Throws Error{kUser} that lists
  /// the newest runs and tags.
  [[nodiscard]] results::RunId resolve(const std::string& name);

  /// Returns the run of an id, a tag or the name by which it is shared. Absent: there is none.
  [[nodiscard]] std::optional<results::RunId> find_named(const std::string& name);

  /// Assigns a tag to a run, and takes it from another run that has it. Throws Error{kUser} for a
  /// text that cannot be a tag.
  void tag(const results::RunId& run, const std::string& tag);
  [[nodiscard]] bool has_tag(const std::string& tag);
  /// Throws Error{kEnvironment} if a tag does not match its checksum.
  void check_tags() { add_tags({}, std::nullopt); }

 private:
  [[nodiscard]] std::int64_t environment_number(const results::Environment& environment);
  void add_tags(std::span<results::RunRecord> records, const std::optional<results::RunId>& only);
  [[nodiscard]] std::string what_there_is();
  StatementCache& statements_;
};

}  // namespace plumb::store
