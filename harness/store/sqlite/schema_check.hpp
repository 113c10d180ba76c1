// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

struct sqlite3;

namespace plumb::store {

/// Returns in which table the schema of an open store differs from that of its migrations. Empty:
/// in none. It throws nothing, so that the handling of another error can ask.
[[nodiscard]] std::string schema_fault(sqlite3* store) noexcept;

}  // namespace plumb::store
