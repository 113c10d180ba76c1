// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/store/files/store_files.hpp"
#include "harness/store/tables/connection.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace plumb::store {

/// Returns in which table the schema of an open store differs from that of its migrations. Empty:
/// in none. It throws nothing, so that the handling of another error can ask.
[[nodiscard]] std::string schema_fault(sqlite3* store) noexcept;

/// Owner of one connection to an SQLite database.
class SqliteConnection final : public Connection {
 public:
  /// Owner of one prepared statement of SQLite.
  class Prepared final : public Statement {
   public:
    using Statement::bind;

    /// Prepares `sql`. `connection` must live longer.
    Prepared(const SqliteConnection& connection, std::string_view sql);

    Prepared& bind(std::int64_t value) override;
    Prepared& bind(double value) override;
    Prepared& bind(std::string_view text) override;
    Prepared& bind_bytes(std::string_view bytes) override;
    Prepared& bind_null() override;
    bool step() override;
    void reset() noexcept override;
    [[nodiscard]] std::int64_t integer() override;
    [[nodiscard]] double number() override;
    [[nodiscard]] std::string_view text_view() override;
    [[nodiscard]] std::string_view blob_view() override;

   private:
    struct Finalize {
      void operator()(sqlite3_stmt* handle) const noexcept;
    };
    [[nodiscard]] bool skip_null() override;
    void check(int code) const;

    const SqliteConnection* connection_;
    std::unique_ptr<sqlite3_stmt, Finalize> handle_;
    int parameter_ = 0;
    int column_ = 0;
  };

  /// Opens a database file, and creates it if it is absent. It is opened for reading only if
  /// `for_reading`, or if the file or its folder cannot be written. In such a folder, a file with a
  /// log that nobody has open is read from a copy. `patience` is how long a statement waits for
  /// other connections. Throws Error{kEnvironment}.
  explicit SqliteConnection(std::filesystem::path path,
                            bool for_reading = false,
                            std::chrono::milliseconds patience = std::chrono::minutes(1));

  /// Throws the Error for a `code` that SQLite just returned, unless it is OK, ROW or DONE. The
  /// text has what was done, the file, SQLite's message, and what to do. Error{kTryAgain}: busy.
  /// Error{kEnvironment}: full disk, read-only, damaged, or not a database. Else Error{kInternal}.
  void check(int code, std::string_view doing) const;
  /// Sets the file up as a store: WAL mode, with synchronous=NORMAL. A killed process loses nothing
  /// that was committed. A power failure may lose the last commits, never the file.
  void set_up();
  [[nodiscard]] sqlite3* handle() const { return handle_.get(); }

  [[nodiscard]] std::string name() const override { return path_.string(); }
  [[nodiscard]] bool read_only() const override;
  [[nodiscard]] std::int64_t revision() override;
  [[nodiscard]] Bytes size() override;
  [[nodiscard]] std::unique_ptr<Statement> prepare(const std::string& sql) override;
  [[nodiscard]] std::unique_ptr<Statement> prepare_insert(const std::string& table,
                                                          std::string_view columns,
                                                          std::size_t count) override;
  // Enough rows to make the start of a statement cheap, and few enough parameters.
  [[nodiscard]] std::size_t rows_per_insert() const override { return 32; }
  void execute(const std::string& sql) override;
  void begin(Connection::TransactionKind kind) override;
  void commit(Connection::TransactionKind kind) override;
  void rollback() noexcept override;
  [[nodiscard]] std::unique_ptr<Connection::Lock> try_lock(const results::RunId& run) override;
  [[nodiscard]] Contents contents() override;
  [[nodiscard]] std::string history_sql() const override;
  [[nodiscard]] std::string migration_sql(std::string_view sql) const override {
    return std::string(sql);
  }
  [[nodiscard]] std::vector<std::string> structural_faults() override;
  [[nodiscard]] std::string_view restore_advice() const override;
  void shrink() override;

 private:
  struct Close {
    void operator()(sqlite3* handle) const noexcept;
  };
  /// Device and inode of a file.
  using Identity = std::pair<std::uint64_t, std::uint64_t>;
  [[nodiscard]] std::optional<Identity> identity() const;
  /// Throws Error{kEnvironment} if the path no longer leads to the file that was opened.
  void require_in_place() const;
  [[nodiscard]] bool is_in_wal_mode(const char* sql) const;
  void enter_wal_mode() const;
  void open(const std::string& uri, int flags);
  void open_unwritable();

  std::filesystem::path path_;
  std::optional<Identity> opened_;
  std::unique_ptr<StoreCopy> copy_;
  std::unique_ptr<sqlite3, Close> handle_;
  std::optional<LeaseFile> lease_file_;
};

}  // namespace plumb::store
