// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/results/run.hpp"
#include "harness/store/tables/connection.hpp"

namespace plumb::store {

/// Writer and reader of the tables derived and derived_inputs. The caller opens the transactions.
class DerivedTable {
 public:
  explicit DerivedTable(StatementCache& statements) : statements_(statements) {}

  /// Stores a record, unless the run has one that is equal except for `computed`. Inputs are sorted
  /// and each stored once. Returns whether it was stored.
  bool insert(std::int64_t run_number, const results::DerivedRecord& record);
  /// Returns a run's records in the order in which they were stored. With a kind, only those of the
  /// kind. Throws Error{kEnvironment} for one that does not match its checksum.
  [[nodiscard]] std::vector<results::DerivedRecord> of_run(const results::RunId& run,
                                                           const std::optional<std::string>& kind);
  /// Returns the records of one kind of many runs, as Store::derived_of_runs() does.
  [[nodiscard]] std::vector<results::DerivedRecord> of_runs(std::span<const results::RunId> runs,
                                                            const std::string& kind);
  /// Returns one line for each record of the store that does not match its checksum.
  [[nodiscard]] std::vector<std::string> faults();
  [[nodiscard]] std::optional<results::DerivedRecord> latest(const std::string& kind,
                                                             const std::string& environment);

 private:
  [[nodiscard]] std::vector<results::RowId> read_inputs(std::int64_t id);
  [[nodiscard]] bool holds(std::int64_t run_number,
                           const results::DerivedRecord& record,
                           const std::vector<results::RowId>& inputs);
  [[nodiscard]] std::vector<results::DerivedRecord> read(
      Statement& statement, std::vector<std::string>* faults = nullptr);
  StatementCache& statements_;
};

/// Returns the checksum of a record. `inputs` must be sorted.
[[nodiscard]] std::int64_t derived_checksum(const results::DerivedRecord& record,
                                            const std::vector<results::RowId>& inputs);

}  // namespace plumb::store
