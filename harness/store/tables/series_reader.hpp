// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/store/store.hpp"
#include "harness/store/tables/measurement_table.hpp"
#include "harness/store/tables/statement_cache.hpp"

namespace plumb::store {

/// Reader of series: one point per run, its best variant. That is the fastest confirmed variant if
/// any was confirmed, else the fastest full one, by corrected median. Of a variant that several
/// processes timed, the middle one counts.
class SeriesReader {
 public:
  SeriesReader(StatementCache& statements, MeasurementTable& measurements)
      : statements_(statements), measurements_(measurements) {}

  /// Returns all points, in the order in which the runs started.
  [[nodiscard]] std::vector<SeriesPoint> all(const SeriesQuery& query);

 private:
  StatementCache& statements_;
  MeasurementTable& measurements_;
};

}  // namespace plumb::store
