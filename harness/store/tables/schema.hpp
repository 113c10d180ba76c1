// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "harness/store/tables/connection.hpp"

namespace plumb::store {

/// Returns the version of a database's schema: the number of its last migration, 0 if it is empty.
/// Throws Error{kEnvironment} for a database that is not a store.
[[nodiscard]] int read_schema_version(Connection& connection);

/// Migrates a database to this program's version: all of it or, on any error, nothing. An empty one
/// is always filled, an older one only if `migrate`. Throws Error{kEnvironment} naming both
/// versions for a newer store and for an older one that must not be migrated. Throws it also for an
/// older store that is read-only.
/// `guard` computes the checksums that a migration cannot, in the same transaction.
void bring_up_to_date(Connection& connection, bool migrate, const std::function<void()>& guard);

}  // namespace plumb::store
