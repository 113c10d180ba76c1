// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>

namespace plumb {

struct SqliteTables;

/// Reads what export_runs wrote into a store; what the store has already (a run by its id, a row by
/// its checksum, a tag by its name) stays as it is. Returns the number of runs that were new.
/// Throws Error{kUser} with the number of the line at fault. Inside a write transaction, so that a
/// fault anywhere imports nothing.
std::size_t import_runs(SqliteTables& tables, std::istream& in);

}  // namespace plumb
