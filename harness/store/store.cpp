// SPDX-License-Identifier: Apache-2.0
#include "harness/store/store.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "harness/base/error.hpp"
#include "harness/store/sqlite/sqlite_store.hpp"

namespace plumb {

std::unique_ptr<Store> open_store(const std::string& url, bool migrate) {
  constexpr std::string_view kSqlite = "sqlite:";
  const std::size_t colon = url.find(':');
  if (url.compare(0, kSqlite.size(), kSqlite) != 0) {
    throw Error(Error::Kind::kUser,
                fmt::format("this build cannot open a store at '{}': '{}' is not supported; write "
                            "sqlite:PATH",
                            url,
                            colon == std::string::npos ? url : url.substr(0, colon + 1)));
  }
  const std::filesystem::path path = url.substr(kSqlite.size());
  if (!path.has_filename()) {
    throw Error(Error::Kind::kUser,
                fmt::format("the store '{}' names no file: write sqlite:PATH", url));
  }
  std::error_code failure;
  if (path.has_parent_path()) {
    std::filesystem::create_directories(path.parent_path(), failure);
  }
  if (failure) {
    throw Error(
        Error::Kind::kEnvironment,
        fmt::format("cannot make the folder '{}' for the store: {}; name another store with "
                    "--store",
                    path.parent_path().string(),
                    failure.message()));
  }
  return std::make_unique<SqliteStore>(path, migrate);
}

}  // namespace plumb
