// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>

#include "harness/results/run.hpp"
#include "harness/store/tables/store_tables.hpp"

namespace plumb::store {

/// Writes runs as lines of JSON: all runs if none is named. The runs whose rows they reuse or
/// derive from are written too, so that an export is complete in itself. Only within a read
/// transaction. Throws Error{kEnvironment} if `out` fails.
void export_runs(StoreTables& tables, std::ostream& out, std::span<const results::RunId> runs);

}  // namespace plumb::store
