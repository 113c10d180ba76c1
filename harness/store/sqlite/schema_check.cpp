// SPDX-License-Identifier: Apache-2.0
#include "harness/store/sqlite/schema_check.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "harness/store/migration.hpp"

namespace plumb::store {
namespace {

/// Lines that describe each table's columns or each index's columns, by name.
using Schema = std::map<std::string, std::string>;

struct Close {
  void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
};

constexpr const char* kDescribe =
    "select m.name, m.type || ' of ' || m.tbl_name || ': ' || c.name || ' ' || c.type || ' ' || "
    "c.\"notnull\" || c.pk from sqlite_master m join pragma_table_info(m.name) c "
    "where m.type = 'table' and m.name not like 'sqlite_%' "
    "union all select m.name, m.type || ' of ' || m.tbl_name || ': ' || coalesce(i.name, '') "
    "from sqlite_master m join pragma_index_info(m.name) i "
    "where m.type = 'index' and m.name not like 'sqlite_%'";

int collect(void* schema, int columns, char** values, char** /*names*/) noexcept {
  try {
    if (columns == 2 && values[0] != nullptr && values[1] != nullptr) {
      (*static_cast<Schema*>(schema))[values[0]].append(values[1]).append("\n");
    }
  } catch (...) {
    return 1;
  }
  return 0;
}

/// Returns absent if the schema cannot be read.
std::optional<Schema> describe(sqlite3* handle) {
  Schema schema;
  if (sqlite3_exec(handle, kDescribe, &collect, &schema, nullptr) != SQLITE_OK) {
    return std::nullopt;
  }
  return schema;
}

int take_number(void* number, int columns, char** values, char** /*names*/) noexcept {
  if (columns == 1 && values[0] != nullptr) {
    *static_cast<int*>(number) = std::atoi(values[0]);
  }
  return 0;
}

std::optional<Schema> expected(int version) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(":memory:", &raw, SQLITE_OPEN_READWRITE, nullptr);
  const std::unique_ptr<sqlite3, Close> memory(raw);
  std::string sql = "create table migrations (number integer primary key, name text not null);";
  for (const Migration& migration : migrations()) {
    if (migration.number <= version) {
      sql += migration.sql;
    }
  }
  if (code != SQLITE_OK || sqlite3_exec(raw, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return std::nullopt;
  }
  return describe(raw);
}

std::string compare(sqlite3* store) {
  int version = 0;
  if (sqlite3_exec(store,
                   "select coalesce(max(number), 0) from migrations",
                   &take_number,
                   &version,
                   nullptr) != SQLITE_OK) {
    return "its list of migrations cannot be read";
  }
  const std::optional<Schema> found = describe(store);
  if (!found) {
    return "its schema cannot be read";
  }
  const std::optional<Schema> wanted = expected(version);
  if (!wanted) {
    return {};  // Nothing to compare with.
  }
  for (const auto& [name, columns] : *wanted) {
    const auto held = found->find(name);
    if (held == found->end() || held->second != columns) {
      return fmt::format("'{}' does not have the columns of schema version {}", name, version);
    }
  }
  return {};
}

}  // namespace

std::string schema_fault(sqlite3* store) noexcept {
  try {
    return compare(store);
  } catch (...) {
    return {};
  }
}

}  // namespace plumb::store
