// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "harness/base/timestamp.hpp"

namespace plumb {

struct SqliteTables;

/// Drops the samples and the timed races of runs that started before `before` and have no tag. Rows
/// that a tagged run reuses keep their samples. Rows that another run or a derived record refers to
/// are not removed. Returns the number of rows touched. Only within a write transaction.
std::size_t collect_garbage_of(SqliteTables& tables, Timestamp before);

}  // namespace plumb
