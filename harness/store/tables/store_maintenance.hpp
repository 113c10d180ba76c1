// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/timestamp.hpp"
#include "harness/results/run.hpp"
#include "harness/store/store.hpp"
#include "harness/store/tables/connection.hpp"
#include "harness/store/tables/derived_table.hpp"
#include "harness/store/tables/measurement_table.hpp"
#include "harness/store/tables/profile_table.hpp"
#include "harness/store/tables/run_table.hpp"
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

/// Writes runs as lines of JSON: all runs if none is named. The runs whose rows they reuse or
/// derive from are written too, so that an export is complete in itself. Only within a read
/// transaction. Throws Error{kEnvironment} if `out` fails.
void export_runs(StoreTables& tables, std::ostream& out, std::span<const results::RunId> runs);

/// Reads what export_runs() wrote into a store. What the store has already stays as it is: a run by
/// its id, a row by its checksum, a tag by its name. A run that took something from an export of
/// format 1 gets a record kUnguardedRecord. Returns the number of new runs. Throws Error{kUser}
/// with the number of the wrong line. Only within a write transaction, so that an error anywhere
/// imports nothing.
std::size_t import_runs(StoreTables& tables, std::istream& in);

/// Removes runs, and drops the samples and the timed races of those that stay, as
/// Store::collect_garbage() says. Environments, layer keys and variants stay: other processes may
/// have noted their numbers. Only within a write transaction.
[[nodiscard]] CollectedGarbage collect_garbage_of(StoreTables& tables,
                                                  Timestamp before,
                                                  Timestamp profiles_before);

/// Checks the file's structure, every reference, every checksum, counts, and newest_runs against
/// the rows. Returns one line per fault, at most a few hundred. Only within a read transaction.
[[nodiscard]] std::vector<std::string> verify_tables(StoreTables& tables);

}  // namespace plumb::store
