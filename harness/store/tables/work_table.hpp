// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/results/run.hpp"
#include "harness/store/shared_work.hpp"
#include "harness/store/tables/statement_cache.hpp"

namespace plumb::store {

/// Writer and reader of the tables shared_runs, members and work, and keeper of this connection's
/// memberships. The caller opens the transactions, and calls hold() and release() after they were
/// committed.
///
/// What claims and leases use needs row locks and a clock of the database: only PostgreSQL has
/// them.
class WorkTable {
 public:
  explicit WorkTable(StatementCache& statements) : statements_(statements) {}

  void share(std::int64_t run, const std::string& name);
  [[nodiscard]] bool is_shared(std::int64_t run);

  [[nodiscard]] std::int64_t join(std::int64_t run,
                                  const std::string& host,
                                  std::chrono::milliseconds lease);
  void renew(std::int64_t run, std::int64_t member, std::chrono::milliseconds lease);
  /// Ends the lease of a process, and gives back what it has not done.
  void leave(std::int64_t run, std::int64_t member);
  /// Returns whether the lease of any process lasts.
  [[nodiscard]] bool has_members(std::int64_t run);

  void offer(std::int64_t run, int stage, std::span<const std::string> items);
  [[nodiscard]] std::optional<WorkClaim> claim(std::int64_t run, std::int64_t member, int stage);
  [[nodiscard]] std::vector<WorkClaim> claims(std::int64_t run, std::int64_t member, int stage);
  void note(std::int64_t run,
            std::int64_t member,
            std::span<const std::string> items,
            WorkProgress progress);
  [[nodiscard]] std::map<int, WorkCount> count(std::int64_t run);

  /// Throws StaleClaim if there is such an item and another process has it. The item stays with
  /// this one until the transaction ends.
  void require_claim(std::int64_t run, std::int64_t member, const std::string& item);
  /// Counts writes that end at `end`, by the process's own count. Returns false if they are stored
  /// already.
  [[nodiscard]] bool count_writes(std::int64_t run, std::int64_t member, std::int64_t end);
  [[nodiscard]] std::int64_t stored_writes(std::int64_t run, std::int64_t member);

  void hold(const results::RunId& run, std::int64_t member) { members_[run] = member; }
  void release(const results::RunId& run) { members_.erase(run); }
  /// Returns the number of this connection in a run. Absent: it has not joined it.
  [[nodiscard]] std::optional<std::int64_t> member(const results::RunId& run) const;

 private:
  StatementCache& statements_;
  std::map<results::RunId, std::int64_t> members_;
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> fences_;  ///< of claims, as taken
};

}  // namespace plumb::store
