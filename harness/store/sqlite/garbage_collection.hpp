// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/base/timestamp.hpp"
#include "harness/store/sqlite/sqlite_tables.hpp"
#include "harness/store/store.hpp"

namespace plumb::store {

/// Removes runs, and drops the samples and the timed races of those that stay, as
/// Store::collect_garbage() says. Environments, layer keys and variants stay: other processes may
/// have noted their numbers. Only within a write transaction.
[[nodiscard]] CollectedGarbage collect_garbage_of(SqliteTables& tables, Timestamp before);

/// Gives the free room of a store's file back to the file system. Not within a transaction.
void shrink(SqliteTables& tables);

}  // namespace plumb::store
