// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <filesystem>

#include "harness/base/error.hpp"
#include "harness/store/files/store_files.hpp"
#include "harness/store/postgresql/postgresql_connection.hpp"
#include "harness/store/spool/spooled_store.hpp"
#include "harness/store/sqlite/sqlite_connection.hpp"
#include "harness/store/store.hpp"
#include "harness/store/store_errors.hpp"
#include "harness/store/tables/table_store.hpp"

namespace plumb::store {

namespace {

std::filesystem::path path_of(const std::string& url) {
  constexpr std::string_view kSqlite = "sqlite:";
  const std::size_t colon = url.find(':');
  if (url.compare(0, kSqlite.size(), kSqlite) != 0) {
    throw Error(Error::Kind::kUser,
                fmt::format("this build cannot open a store at '{}': '{}' is not supported; write "
                            "sqlite:PATH or postgresql://…",
                            url,
                            colon == std::string::npos ? url : url.substr(0, colon + 1)));
  }
  std::filesystem::path path = url.substr(kSqlite.size());
  if (!path.has_filename()) {
    throw Error(Error::Kind::kUser,
                fmt::format("the store '{}' names no file: write sqlite:PATH", url));
  }
  return path;
}

std::unique_ptr<TableStore> open_server(const std::string& url, const Store::Access& access) {
  return std::make_unique<TableStore>(
      std::make_unique<PostgresqlConnection>(url, access.read_only, access.patience), access);
}

}  // namespace

std::unique_ptr<Store> open_store(const std::string& url, const Store::Access& access) {
  if (is_postgresql_url(url)) {
    if (access.spool) {
      return std::make_unique<SpooledStore>(
          url, *access.spool, [url, access] { return open_server(url, access); });
    }
    return open_server(url, access);
  }
  const std::filesystem::path path = path_of(url);
  std::error_code failure;
  if (path.has_parent_path() && !access.read_only) {
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
  // SQLite forgets the log when the last process closes the store, so this is told at once.
  if (const std::optional<std::string> lost = read_log_damage(path)) {
    spdlog::warn(
        "{}: rows may be lost; `plumb run --resume` measures again what the last run lacks", *lost);
  }
  auto connection = std::make_unique<SqliteConnection>(path, access.read_only, access.patience);
  connection->set_up();
  return std::make_unique<TableStore>(std::move(connection), access);
}

std::vector<Store::SpooledRun> sync_spools(const std::string& url,
                                           const std::filesystem::path& folder) {
  if (!is_postgresql_url(url)) {
    (void)path_of(url);  // Nothing waits for a file, but it must be one.
    return {};
  }
  return sync_spools_of(folder, url, *open_server(url, {}));
}

std::string restore_advice(const std::string& url) {
  return std::string(is_postgresql_url(url) ? kRestoreDatabase : kRestoreFile);
}

std::optional<std::string> store_identity(const std::string& url) {
  if (is_postgresql_url(url)) {
    check_postgresql_url(url);
    return url;  // Whether it is there is known only by asking its server.
  }
  constexpr off_t kSmallestHeader = 100;  // An empty file is one that somebody is about to fill.
  const std::filesystem::path path = path_of(url);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || status.st_size < kSmallestHeader) {
    return std::nullopt;
  }
  // Without shared memory nobody writes, and a reader without rights may take the files for
  // unchanging.
  const auto modified = [](const struct stat& file) {
    return file.st_mtim.tv_sec * 1'000'000'000 + file.st_mtim.tv_nsec;
  };
  std::error_code ignored;
  const bool open = std::filesystem::exists(path.string() + "-shm", ignored);
  struct stat log {};
  const bool logged = ::stat((path.string() + "-wal").c_str(), &log) == 0;
  return fmt::format("{}:{}:{}:{}",
                     status.st_dev,
                     status.st_ino,
                     open ? 0 : modified(status),
                     open || !logged ? 0 : modified(log));
}

}  // namespace plumb::store
