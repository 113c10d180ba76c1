// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>

#include "harness/results/run.hpp"

namespace plumb {

struct SqliteTables;

/// Writes runs as lines of JSON: all runs if none is named. Runs whose rows a named run reuses or
/// derives from come along, so that an export stands on its own. Inside a read transaction.
/// Throws Error{kEnvironment} if `out` takes no more.
void export_runs(SqliteTables& tables, std::ostream& out, std::span<const RunId> runs);

}  // namespace plumb
