// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "harness/store/tables/connection.hpp"
#include "harness/store/tables/derived_table.hpp"
#include "harness/store/tables/lease_table.hpp"
#include "harness/store/tables/measurement_table.hpp"
#include "harness/store/tables/profile_table.hpp"
#include "harness/store/tables/run_table.hpp"
#include "harness/store/tables/series_reader.hpp"
#include "harness/store/tables/statement_cache.hpp"
#include "harness/store/tables/work_table.hpp"

namespace plumb::store {

/// Connection of a store, with the readers and writers of its tables.
struct StoreTables {
  explicit StoreTables(std::unique_ptr<Connection> opened)
      : owned(std::move(opened)),
        connection(*owned),
        statements(connection),
        runs(statements),
        leases(statements),
        work(statements),
        measurements(statements),
        derived(statements),
        profiles(statements),
        series(statements, measurements) {}

  std::unique_ptr<Connection> owned;
  Connection& connection;
  StatementCache statements;
  RunTable runs;
  LeaseTable leases;
  WorkTable work;
  MeasurementTable measurements;
  DerivedTable derived;
  ProfileTable profiles;
  SeriesReader series;
};

}  // namespace plumb::store
