// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "harness/results/measurement.hpp"
#include "harness/results/run.hpp"
#include "harness/store/tables/connection.hpp"

namespace plumb::store {

/// Returns whether a row has a full or confirming time. Such rows give a series its points.
[[nodiscard]] bool is_timed_in_full(const results::Measurement& row);
/// Returns whether a row settles its key for reuse. It does if it was timed in full, or refused for
/// good (unsupported, wrong result, out of memory). A crash or a time-out may pass the next time.
[[nodiscard]] bool settles(const results::Measurement& row);

/// Returns facts as the columns hold them.
[[nodiscard]] std::string facts_text(const results::Facts& facts);
/// Reads what facts_text() wrote. Throws Error{kUser}.
[[nodiscard]] results::Facts facts_from_text(const std::string& text);

/// Columns of the table runs (named r) that read_progress() reads.
inline constexpr std::string_view kProgressColumns =
    "r.number, r.environment, r.next_position, r.rows_ok, r.rows_failed, r.reused_checksum, "
    "r.state, r.finished, r.progress_checksum";

/// Returns the statement that selects the columns for read_run(), first those of read_brief(). Add
/// a condition on r (runs). Without `suite`, the resolved suite is left out, which may be large.
[[nodiscard]] std::string select_run_sql(bool suite);
/// Reads the current row of a statement: all but the tags. Throws Error{kEnvironment} for one that
/// does not match its checksums.
[[nodiscard]] results::RunRecord read_run(Statement& statement, bool suite);

/// Returns the checksum of a run's header, which does not change while the run goes on.
[[nodiscard]] std::int64_t run_checksum(const results::RunHeader& header);

/// Returns the checksum of one row that a run reuses. Sums of them do not depend on the order.
[[nodiscard]] std::int64_t reuse_checksum(results::RowId row);
/// Returns the sum of two checksums, which wraps around.
[[nodiscard]] std::int64_t add_checksums(std::int64_t left, std::int64_t right);

/// Throws Error{kUser} for a text that cannot be a tag or a name of a run.
void require_tag_text(const std::string& text);

/// Writer and reader of the tables runs, environments, suites and tags. The caller opens the
/// transactions.
class RunTable {
 public:
  /// Writer and reader of the table newest_runs. For each key, cache mode and environment, it has
  /// the run with the newest time and the run with the newest settled rows. The newest run is the
  /// one that started last; of equals, the one stored last.
  class Newest {
   public:
    /// Run whose rows are noted.
    struct Run {
      std::int64_t number = 0;
      std::int64_t environment = 0;
      Timestamp started{};
    };

    explicit Newest(Connection::StatementCache& statements) : statements_(statements) {}

    /// Notes a row that is being stored. Only within a write transaction.
    void note(const Run& run, std::int64_t key, const results::Measurement& row);
    /// Clears the cache, after a transaction that was rolled back.
    void forget() { noted_.clear(); }

    [[nodiscard]] std::optional<std::int64_t> settled_run(const std::string& key,
                                                          results::CacheMode cache,
                                                          const std::string& environment);

   private:
    Connection::StatementCache& statements_;
    std::int64_t run_ = 0;
    /// of run_: one write is enough
    std::set<std::tuple<std::int64_t, results::CacheMode, bool>> noted_;
  };

  /// Data of a run that is needed to write to it. The part that changes while the run goes on has a
  /// checksum in the store.
  struct Entry {
    /// Header of a run without its suite, as the columns hold it. It has a checksum of its own, so
    /// that runs can be listed without reading their suites.
    struct BriefHeader {
      /// id, suite, suite_hash, resolved_hash, backend, stack, identity, facts, shard, command
      std::array<std::string, 10> texts;
      Timestamp started{};

      [[nodiscard]] std::int64_t checksum() const;
    };

    Newest::Run run;
    std::int64_t id_checksum = 0;  ///< ContentHash of the run's id
    std::int64_t next_position = 0;
    std::int64_t rows_ok = 0;
    std::int64_t rows_failed = 0;
    std::int64_t reused_checksum = 0;  ///< sum of reuse_checksum() of the rows that it reuses
    results::RunState state = results::RunState::kRunning;
    std::optional<Timestamp> finished;
  };

  enum class Detail {
    kBrief,  ///< without the resolved suite, which may be large
    kFull,
  };

  explicit RunTable(Connection::StatementCache& statements) : statements_(statements) {}

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
  Connection::StatementCache& statements_;
};

[[nodiscard]] RunTable::Entry::BriefHeader brief_header(const results::RunHeader& header,
                                                        const std::string& resolved_hash);

[[nodiscard]] RunTable::Entry::BriefHeader read_brief(Statement& statement);

/// Reads kProgressColumns. Throws Error{kEnvironment} if they do not match their checksum.
[[nodiscard]] RunTable::Entry read_progress(Statement& statement, const results::RunId& id);

[[nodiscard]] std::int64_t progress_checksum(const RunTable::Entry& entry);

}  // namespace plumb::store
