// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/results/profile/named_profile.hpp"
#include "harness/results/run.hpp"
#include "harness/store/tables/connection.hpp"
#include "harness/store/tables/measurement_table.hpp"

namespace plumb::store {

/// Writer and reader of the tables profiles, profile_steps, profile_samples and functions. The
/// caller opens the transactions.
class ProfileTable {
 public:
  explicit ProfileTable(Connection::StatementCache& statements)
      : statements_(statements),
        keys_(statements, "layer_keys"),
        variants_(statements, "variants") {}

  /// Stores a profile, unless the run has an equal one. Returns whether it was stored.
  bool insert(std::int64_t run_number, const results::StoredProfile& given);
  /// Returns a run's profiles in the order in which they were stored. Throws Error{kEnvironment}
  /// for one that does not match its checksum.
  [[nodiscard]] std::vector<results::StoredProfile> of_run(const results::RunId& run);
  /// Returns one line for each profile of the store that does not match its checksum.
  [[nodiscard]] std::vector<std::string> faults();
  /// Clears the caches, after a transaction that was rolled back.
  void forget() {
    keys_.forget();
    variants_.forget();
  }

 private:
  /// Profile as its rows have it.
  struct ReadProfile {
    std::int64_t id = 0;
    std::int64_t checksum = 0;
    bool intact = true;  ///< what is encoded in it could be read
    results::StoredProfile stored;
  };
  [[nodiscard]] std::int64_t function_id(
      const results::NamedProfile::CodeNames::Function& function);
  void insert_steps(std::int64_t id, const results::NamedProfile& profile);
  void insert_samples(std::int64_t id, const results::NamedProfile& profile);
  /// Reads a run's rows of profiles alone.
  [[nodiscard]] std::vector<ReadProfile> read_heads(const results::RunId& run);
  void read_steps(ReadProfile& read);
  void read_samples(ReadProfile& read);
  /// Completes a profile. Returns what is wrong with it; empty: nothing.
  [[nodiscard]] std::string complete(ReadProfile& read);

  Connection::StatementCache& statements_;
  TextTable keys_;
  TextTable variants_;
};

/// Writer and reader of the tables derived and derived_inputs. The caller opens the transactions.
class DerivedTable {
 public:
  explicit DerivedTable(Connection::StatementCache& statements) : statements_(statements) {}

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
  Connection::StatementCache& statements_;
};

/// Returns the checksum of a record. `inputs` must be sorted.
[[nodiscard]] std::int64_t derived_checksum(const results::DerivedRecord& record,
                                            const std::vector<results::RowId>& inputs);

}  // namespace plumb::store
