// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/results/run.hpp"
#include "harness/store/store.hpp"
#include "harness/store/tables/connection.hpp"

namespace plumb::store {

/// Returns who this process is, for people: nothing is decided by it.
[[nodiscard]] std::string owner_text();

/// Writer and reader of the tables shared_runs, members and work, and keeper of this connection's
/// memberships. The caller opens the transactions, and calls hold() and release() after they were
/// committed.
///
/// What claims and leases use needs row locks and a clock of the database: only PostgreSQL has
/// them.
class WorkTable {
 public:
  /// Writer and reader of the table leases, and keeper of this connection's own. The caller opens
  /// the transactions, and calls hold() and release() after they were committed.
  class Leases {
   public:
    /// Right of this connection to write to one run: a lock, and the fence, a number that grows
    /// with every owner.
    struct Lease {
      results::RunId run;
      std::int64_t fence;
      std::unique_ptr<Connection::Lock> lock;
    };

    explicit Leases(Connection::StatementCache& statements) : statements_(statements) {}

    /// Takes a run. Returns nothing if a live process has it, or if this connection had it already.
    [[nodiscard]] std::optional<Lease> take(std::int64_t run_number, const results::RunId& run);
    /// Takes a run again whose lock was lost with a connection. Returns nothing if a live process
    /// has it. Throws Error{kEnvironment} if another process had it since.
    [[nodiscard]] std::optional<Lease> retake(std::int64_t run_number,
                                              const results::RunId& run,
                                              std::int64_t fence);
    void hold(Lease lease);
    /// Returns the fence of a run that this connection has.
    [[nodiscard]] std::int64_t fence(const results::RunId& run) const {
      return held_.at(run).fence;
    }
    void release(const results::RunId& run) { held_.erase(run); }
    /// Returns whether this connection has the run. Throws Error{kEnvironment} if another process
    /// took it over.
    [[nodiscard]] bool check(std::int64_t run_number, const results::RunId& run);

   private:
    /// Throws Error{kEnvironment} unless the run has this fence.
    void require_fence(std::int64_t run_number, const results::RunId& run, std::int64_t fence);
    Connection::StatementCache& statements_;
    std::map<results::RunId, Lease> held_;
  };

  explicit WorkTable(Connection::StatementCache& statements) : statements_(statements) {}

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
  [[nodiscard]] std::optional<SharedWork::Claim> claim(std::int64_t run,
                                                       std::int64_t member,
                                                       int stage);
  [[nodiscard]] std::vector<SharedWork::Claim> claims(std::int64_t run,
                                                      std::int64_t member,
                                                      int stage);
  void note(std::int64_t run,
            std::int64_t member,
            std::span<const std::string> items,
            SharedWork::Progress progress);
  [[nodiscard]] std::map<int, SharedWork::Count> count(std::int64_t run);

  /// Throws SharedWork::StaleClaim if there is such an item and another process has it. The item
  /// stays with this one until the transaction ends.
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
  Connection::StatementCache& statements_;
  std::map<results::RunId, std::int64_t> members_;
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> fences_;  ///< of claims, as taken
};

}  // namespace plumb::store
