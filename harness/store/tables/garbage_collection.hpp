// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/base/timestamp.hpp"
#include "harness/store/store.hpp"
#include "harness/store/tables/store_tables.hpp"

namespace plumb::store {

/// Removes runs, and drops the samples and the timed races of those that stay, as
/// Store::collect_garbage() says. Environments, layer keys and variants stay: other processes may
/// have noted their numbers. Only within a write transaction.
[[nodiscard]] CollectedGarbage collect_garbage_of(StoreTables& tables,
                                                  Timestamp before,
                                                  Timestamp profiles_before);

}  // namespace plumb::store
