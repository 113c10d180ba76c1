// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace plumb::store {

/// Returns whether a URL names a store on a PostgreSQL server.
[[nodiscard]] bool is_postgresql_url(std::string_view url);

/// Throws Error{kUser} for a URL that libpq cannot read or that has a password in it, which other
/// users could read in the list of processes. The text never repeats such a URL.
void check_postgresql_url(const std::string& url);

}  // namespace plumb::store
