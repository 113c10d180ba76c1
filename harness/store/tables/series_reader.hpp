// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "harness/store/store.hpp"
#include "harness/store/tables/newest_runs.hpp"
#include "harness/store/tables/statement_cache.hpp"

namespace plumb::store {

/// Reader of series: one point per run, its best variant. That is the fastest confirmed variant if
/// any was confirmed, else the fastest full one, by corrected median. Of a variant that several
/// processes timed, the middle one counts.
class SeriesReader {
 public:
  SeriesReader(StatementCache& statements, NewestRuns& newest)
      : statements_(statements), newest_(newest) {}

  /// Returns all points, in the order in which the runs started.
  [[nodiscard]] std::vector<SeriesPoint> all(const SeriesQuery& query);
  [[nodiscard]] std::optional<SeriesPoint> latest(const SeriesQuery& query);

 private:
  [[nodiscard]] std::vector<SeriesPoint> read(const SeriesQuery& query,
                                              std::optional<std::int64_t> run);
  StatementCache& statements_;
  NewestRuns& newest_;
};

}  // namespace plumb::store
