// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/results/profile/named_profile.hpp"
#include "harness/store/tables/connection.hpp"
#include "harness/store/tables/text_table.hpp"

namespace plumb::store {

/// Writer and reader of the tables profiles, profile_steps, profile_samples and functions. The
/// caller opens the transactions.
class ProfileTable {
 public:
  explicit ProfileTable(StatementCache& statements)
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
  [[nodiscard]] std::int64_t function_id(const results::ProfiledFunction& function);
  void insert_steps(std::int64_t id, const results::NamedProfile& profile);
  void insert_samples(std::int64_t id, const results::NamedProfile& profile);
  /// Reads a run's rows of profiles alone.
  [[nodiscard]] std::vector<ReadProfile> read_heads(const results::RunId& run);
  void read_steps(ReadProfile& read);
  void read_samples(ReadProfile& read);
  /// Completes a profile. Returns what is wrong with it; empty: nothing.
  [[nodiscard]] std::string complete(ReadProfile& read);

  StatementCache& statements_;
  TextTable keys_;
  TextTable variants_;
};

}  // namespace plumb::store
