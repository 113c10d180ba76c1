// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>

#include "harness/store/tables/store_tables.hpp"

namespace plumb::store {

/// Reads what export_runs() wrote into a store. What the store has already stays as it is: a run by
/// its id, a row by its checksum, a tag by its name. A run that took something from an export of
/// format 1 gets a record kUnguardedRecord. Returns the number of new runs. Throws Error{kUser}
/// with the number of the wrong line. Only within a write transaction, so that an error anywhere
/// imports nothing.
std::size_t import_runs(StoreTables& tables, std::istream& in);

}  // namespace plumb::store
