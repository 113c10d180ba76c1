// SPDX-License-Identifier: Apache-2.0
#include "harness/store/sqlite/sqlite_connection.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include "harness/base/error.hpp"

namespace plumb {
namespace {

struct Advice {
  Error::Kind kind;
  const char* text;
};

Advice advice_for(int code) {
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Error::Kind::kTryAgain,
              "another process holds the store for too long: wait for it, or end it"};
    case SQLITE_FULL:
      return {Error::Kind::kEnvironment,
              "free some space and try again; what was stored before is safe"};
    case SQLITE_IOERR:
      return {Error::Kind::kEnvironment,
              "check free space, quota and the disk; what was stored before is safe"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return {Error::Kind::kEnvironment,
              "make the file and its folder writable, or name another with --store"};
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
      return {Error::Kind::kEnvironment, "check that the folder exists and may be written"};
    case SQLITE_NOTADB:
      return {Error::Kind::kEnvironment, "this file is not a store: name another with --store"};
    case SQLITE_CORRUPT:
      return {Error::Kind::kEnvironment,
              "the file is damaged: run plumb store verify, and restore a copy or an export"};
    default:
      return {Error::Kind::kInternal, "please report this bug"};
  }
}

// SQLite interprets '?', '#' and '%' in a URI, and a path may contain any of them.
std::string uri_of(const std::filesystem::path& path, std::string_view query) {
  std::string uri = "file:";
  for (const char c : path.string()) {
    if (c == '?' || c == '#' || c == '%') {
      uri += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      uri += c;
    }
  }
  return uri.append(query);
}

}  // namespace

void SqliteConnection::Close::operator()(sqlite3* handle) const noexcept {
  sqlite3_close_v2(handle);
}

SqliteConnection::SqliteConnection(std::filesystem::path path,
                                   bool for_reading,
                                   std::chrono::milliseconds patience)
    : path_(std::move(path)) {
  std::error_code ignored;
  const bool exists = std::filesystem::exists(path_, ignored);
  const bool folder_writable =
      ::access(path_.has_parent_path() ? path_.parent_path().c_str() : ".", W_OK) == 0;
  std::filesystem::path log = path_;
  log += "-wal";
  if (exists && !folder_writable && !std::filesystem::exists(log, ignored)) {
    // SQLite cannot make its shared-memory file here. Other processes without that right cannot
    // write either, so the file may be read as unchanging.
    open(uri_of(path_, "?immutable=1"), SQLITE_OPEN_READONLY);
  } else {
    open(uri_of(path_, ""),
         for_reading ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  }
  check(sqlite3_busy_timeout(handle(), static_cast<int>(patience.count())), "set a time-out for");
}

void SqliteConnection::open(const std::string& uri, int flags) {
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(uri.c_str(),
                      &raw,
                      flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                      nullptr);
  handle_.reset(raw);
  check(code, "open");
}

void SqliteConnection::check(int code, std::string_view doing) const {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) {
    return;
  }
  const Advice advice = advice_for(code);
  const char* const words = handle_ ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code);
  throw Error(advice.kind,
              fmt::format("cannot {} the store '{}': {} (SQLite code {}); {}",
                          doing,
                          path_.string(),
                          words,
                          code,
                          advice.text));
}

void SqliteConnection::execute(const std::string& sql) {
  check(sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr), "run a statement in");
}

bool SqliteConnection::read_only() const {
  return sqlite3_db_readonly(handle(), "main") == 1;
}

void SqliteConnection::require_writable() const {
  if (read_only()) {
    check(SQLITE_READONLY, "write to");
  }
}

}  // namespace plumb
