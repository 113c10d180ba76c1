// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

struct pg_conn;
struct pg_result;

namespace plumb::store {

/// Throws the Error for a connection that could not be made: ServerAway if there may be one later,
/// else Error{kEnvironment}.
[[noreturn]] void throw_failed_connection(const pg_conn& connection, const std::string& store);

/// Throws the Error for an answer that says that something failed. Without one, the connection
/// failed. The text has the server's message and what to do.
[[noreturn]] void throw_failure(const pg_conn& connection,
                                const pg_result* result,
                                const std::string& store);

}  // namespace plumb::store
