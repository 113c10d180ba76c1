// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "harness/store/sqlite/newest_runs.hpp"
#include "harness/store/sqlite/statement_cache.hpp"
#include "harness/store/store.hpp"

namespace plumb {

/// Reads series: one point a run, its best variant. Best: the fastest confirmed one if any was
/// confirmed, else the fastest full one, by corrected median; of several processes that timed one
/// variant, the middle one.
class SeriesReader {
 public:
  SeriesReader(StatementCache& statements, NewestRuns& newest)
      : statements_(statements), newest_(newest) {}

  /// Returns all points, in order of the runs' starts.
  [[nodiscard]] std::vector<SeriesPoint> all(const SeriesQuery& query);
  [[nodiscard]] std::optional<SeriesPoint> latest(const SeriesQuery& query);

 private:
  [[nodiscard]] std::vector<SeriesPoint> read(const SeriesQuery& query,
                                              std::optional<std::int64_t> run);
  StatementCache& statements_;
  NewestRuns& newest_;
};

}  // namespace plumb
