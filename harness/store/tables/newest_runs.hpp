// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "harness/results/measurement.hpp"
#include "harness/store/tables/statement_cache.hpp"

namespace plumb::store {

/// Returns whether a row has a full or confirming time. Such rows give a series its points.
[[nodiscard]] bool is_timed_in_full(const results::Measurement& row);
/// Returns whether a row settles its key for reuse. It does if it was timed in full, or refused for
/// good (unsupported, wrong result, out of memory). A crash or a time-out may pass the next time.
[[nodiscard]] bool settles(const results::Measurement& row);

/// Writer and reader of the table newest_runs. For each key, cache mode and environment, it has the
/// run with the newest time and the run with the newest settled rows. The newest run is the one
/// that started last; of equals, the one stored last.
class NewestRuns {
 public:
  /// Run whose rows are noted.
  struct Run {
    std::int64_t number = 0;
    std::int64_t environment = 0;
    Timestamp started{};
  };

  explicit NewestRuns(StatementCache& statements) : statements_(statements) {}

  /// Notes a row that is being stored. Only within a write transaction.
  void note(const Run& run, std::int64_t key, const results::Measurement& row);
  /// Clears the cache, after a transaction that was rolled back.
  void forget() { noted_.clear(); }

  [[nodiscard]] std::optional<std::int64_t> settled_run(const std::string& key,
                                                        results::CacheMode cache,
                                                        const std::string& environment);

 private:
  StatementCache& statements_;
  std::int64_t run_ = 0;
  /// of run_: one write is enough
  std::set<std::tuple<std::int64_t, results::CacheMode, bool>> noted_;
};

}  // namespace plumb::store
