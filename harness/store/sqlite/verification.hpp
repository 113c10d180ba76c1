// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace plumb {

struct SqliteTables;

/// Checks a store: the file's structure, every reference, every checksum, counts, and the table of
/// newest runs against the rows. Returns one line a fault, at most a few hundred. Inside a read
/// transaction.
[[nodiscard]] std::vector<std::string> verify_tables(SqliteTables& tables);

}  // namespace plumb
