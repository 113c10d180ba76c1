// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "harness/store/sqlite/derived_table.hpp"
#include "harness/store/sqlite/lease_table.hpp"
#include "harness/store/sqlite/measurement_table.hpp"
#include "harness/store/sqlite/run_table.hpp"
#include "harness/store/sqlite/series_reader.hpp"
#include "harness/store/sqlite/sqlite_connection.hpp"
#include "harness/store/sqlite/sqlite_statement.hpp"
#include "harness/store/store.hpp"

namespace plumb::store {

/// Connection of a store, with the readers and writers of its tables.
struct SqliteTables {
  SqliteTables(const std::filesystem::path& path, const StoreAccess& access)
      : connection(path, access.read_only, access.patience),
        statements(connection),
        runs(statements),
        leases(statements, path),
        measurements(statements),
        derived(statements),
        series(statements, measurements.newest()) {}

  SqliteConnection connection;
  StatementCache statements;
  RunTable runs;
  LeaseTable leases;
  MeasurementTable measurements;
  DerivedTable derived;
  SeriesReader series;
};

}  // namespace plumb::store
