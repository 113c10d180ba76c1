// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace plumb::test {

/// Returns whether a PostgreSQL server was started for the tests, and named in
/// PLUMB_TEST_POSTGRESQL.
[[nodiscard]] bool has_postgresql_server();

/// Returns the URL of a store in a schema of its own, which stands for `folder`. Makes the schema
/// if it is absent.
[[nodiscard]] std::string postgresql_url(const std::filesystem::path& folder);

/// Runs statements in the database of the tests.
void run_postgresql(const std::string& url, const std::string& sql);

}  // namespace plumb::test
