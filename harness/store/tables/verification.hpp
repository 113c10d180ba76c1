// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/store/tables/store_tables.hpp"

namespace plumb::store {

/// Checks the file's structure, every reference, every checksum, counts, and newest_runs against
/// the rows. Returns one line per fault, at most a few hundred. Only within a read transaction.
[[nodiscard]] std::vector<std::string> verify_tables(StoreTables& tables);

}  // namespace plumb::store
