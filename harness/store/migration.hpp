// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace plumb::store {

/// Step from one version of the schema to the next: a file in harness/store/migrations.
struct Migration {
  int number = 0;         ///< the version it leads to, counted from 1
  std::string_view name;  ///< "initial"
  std::string_view sql;
};

/// Returns all migrations in order, compiled into the program.
[[nodiscard]] std::span<const Migration> migrations();

}  // namespace plumb::store
