// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "harness/results/run.hpp"
#include "harness/store/tables/statement_cache.hpp"

namespace plumb::store {

/// Returns who this process is, for people: nothing is decided by it.
[[nodiscard]] std::string owner_text();

/// Right of this connection to write to one run: a lock, and the fence, a number that grows with
/// every owner.
struct Lease {
  results::RunId run;
  std::int64_t fence;
  std::unique_ptr<RunLock> lock;
};

/// Writer and reader of the table leases, and keeper of this connection's own. The caller opens the
/// transactions, and calls hold() and release() after they were committed.
class LeaseTable {
 public:
  explicit LeaseTable(StatementCache& statements) : statements_(statements) {}

  /// Takes a run. Returns nothing if a live process has it, or if this connection had it already.
  [[nodiscard]] std::optional<Lease> take(std::int64_t run_number, const results::RunId& run);
  /// Takes a run again whose lock was lost with a connection. Returns nothing if a live process has
  /// it. Throws Error{kEnvironment} if another process had it since.
  [[nodiscard]] std::optional<Lease> retake(std::int64_t run_number,
                                            const results::RunId& run,
                                            std::int64_t fence);
  void hold(Lease lease);
  /// Returns the fence of a run that this connection has.
  [[nodiscard]] std::int64_t fence(const results::RunId& run) const { return held_.at(run).fence; }
  void release(const results::RunId& run) { held_.erase(run); }
  /// Returns whether this connection has the run. Throws Error{kEnvironment} if another process
  /// took it over.
  [[nodiscard]] bool check(std::int64_t run_number, const results::RunId& run);

 private:
  /// Throws Error{kEnvironment} unless the run has this fence.
  void require_fence(std::int64_t run_number, const results::RunId& run, std::int64_t fence);
  StatementCache& statements_;
  std::map<results::RunId, Lease> held_;
};

}  // namespace plumb::store
