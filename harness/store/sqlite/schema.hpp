// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/store/sqlite/sqlite_connection.hpp"

namespace plumb {

/// Returns the version of the schema in a database: the number of its last migration, 0 for an
/// empty one. Throws Error{kEnvironment} for a database that is no store.
[[nodiscard]] int schema_version_of(SqliteConnection& connection);

/// Brings a database to this program's version: all of it or, on any error, nothing. An empty one
/// is always filled; an older one only if `migrate`. Throws Error{kEnvironment} naming both
/// versions for a newer store, for an older one that must not be migrated, and for one that is
/// older and read-only.
void bring_up_to_date(SqliteConnection& connection, bool migrate);

}  // namespace plumb
