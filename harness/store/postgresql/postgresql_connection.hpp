// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <endian.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/store/tables/connection.hpp"

struct pg_conn;
struct pg_result;

namespace plumb::store {

/// Throws the Error for a connection that could not be made: Store::ServerAway if there may be one
/// later, else Error{kEnvironment}.
[[noreturn]] void throw_failed_connection(const pg_conn& connection, const std::string& store);

/// Throws the Error for an answer that says that something failed. Without one, the connection
/// failed. The text has the server's message and what to do.
[[noreturn]] void throw_failure(const pg_conn& connection,
                                const pg_result* result,
                                const std::string& store);

/// Reads an integer whose bytes begin with the highest.
template <typename Integer>
[[nodiscard]] Integer read_bytes(std::string_view bytes) {
  PLUMB_CHECK(bytes.size() == sizeof(Integer));
  std::make_unsigned_t<Integer> value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  if constexpr (sizeof value == 8) {
    value = be64toh(value);
  } else if constexpr (sizeof value == 4) {
    value = be32toh(value);
  } else {
    static_assert(sizeof value == 2);
    value = be16toh(value);
  }
  return static_cast<Integer>(value);
}

/// Reads a column as an integer; a flag is 0 or 1. Throws Error{kEnvironment} for another type.
[[nodiscard]] std::int64_t read_integer(unsigned type, std::string_view bytes);
/// Reads a column as a number. Throws Error{kEnvironment} for another type.
[[nodiscard]] double read_number(unsigned type, std::string_view bytes);
/// Returns an integer or a number as a text that has all of it.
[[nodiscard]] std::string number_text(unsigned type, std::string_view bytes);

/// Returns whether a URL names a store on a PostgreSQL server.
[[nodiscard]] bool is_postgresql_url(std::string_view url);

/// Throws Error{kUser} for a URL that libpq cannot read or that has a password in it, which other
/// users could read in the list of processes. The text never repeats such a URL.
void check_postgresql_url(const std::string& url);

/// Owner of one connection to a PostgreSQL database. The tables are in the first schema of its
/// search path.
///
/// Every member that talks to the server throws Store::ServerAway if it went away, Error{kTryAgain}
/// if another process keeps a lock for too long, and Error{kEnvironment} for rights, a full disk or
/// damage.
class PostgresqlConnection final : public Connection {
 public:
  /// Value of a parameter or column in PostgreSQL's binary form. Numbers are kept inside, texts and
  /// bytes outside.
  class Value {
   public:
    /// Makes the value of a column whose type has the number `type` (an OID). Throws
    /// Error{kInternal} if the type cannot have it.
    Value(unsigned type, std::int64_t value);
    Value(unsigned type, double value);
    /// Makes a text, or bytes.
    explicit Value(std::string_view bytes)
        : outside_(bytes.data() == nullptr ? std::string_view("") : bytes) {}
    /// Makes a null.
    Value() = default;

    [[nodiscard]] bool is_null() const { return used_ == 0 && outside_.data() == nullptr; }
    [[nodiscard]] bool is_number() const { return used_ != 0; }
    [[nodiscard]] std::string_view bytes() const {
      return used_ == 0 ? outside_ : std::string_view(inside_.data(), used_);
    }

   private:
    template <typename Integer>
    void put(Integer value);
    std::string_view outside_;
    std::array<char, 8> inside_{};
    std::size_t used_ = 0;
  };

  /// One message of a copy from a server.
  struct CopiedRow {
    struct Free {
      void operator()(char* bytes) const noexcept;
    };

    std::unique_ptr<char, Free> bytes;
    std::size_t size = 0;
  };

  /// Deleter of an answer.
  struct FreeResult {
    void operator()(pg_result* result) const noexcept;
  };
  /// Owner of one answer of a server.
  using Result = std::unique_ptr<pg_result, FreeResult>;

  /// Connects. `patience` is how long a statement waits for other connections. Throws Error{kUser}
  /// for a URL that holds a password.
  PostgresqlConnection(std::string url, bool for_reading, std::chrono::milliseconds patience);

  /// Sends a query and returns its answer. Throws if it failed.
  Result query(const std::string& sql);
  /// Returns the one number that a query answers, without preparing it.
  [[nodiscard]] std::int64_t query_number(const std::string& sql);
  /// Runs a prepared statement.
  Result run(const std::string& statement, std::span<const Value> parameters);
  /// Sends a prepared statement without waiting for its answer, which is of no interest. If it
  /// fails, the next call that waits throws.
  void queue(const std::string& statement, std::span<const Value> parameters);
  /// Prepares a statement, and returns the answer that describes it.
  Result describe(const std::string& statement, const std::string& sql);
  /// Sends what COPY … FROM STDIN expects.
  void copy(const std::string& sql, std::string_view bytes);
  /// Starts `COPY (query) TO STDOUT` in its binary form. Nothing else may be sent until end_rows().
  void start_rows(const std::string& query);
  /// Returns the next message of the copy. The last one says that it is the last.
  [[nodiscard]] CopiedRow next_row();
  /// Drops what is left of the copy.
  void end_rows() noexcept;
  /// Returns a text as SQL writes it.
  [[nodiscard]] std::string literal(std::string_view text);
  /// Returns a name for a prepared statement, new in each call.
  [[nodiscard]] std::string new_statement_name();
  /// Drops a lock of this session, as soon as the transaction allows it.
  void unlock(std::int64_t lock) noexcept;

  [[nodiscard]] std::string name() const override { return url_; }
  [[nodiscard]] bool read_only() const override { return for_reading_; }
  [[nodiscard]] std::int64_t revision() override;
  [[nodiscard]] Bytes size() override;
  [[nodiscard]] std::unique_ptr<Statement> prepare(const std::string& sql) override;
  [[nodiscard]] std::unique_ptr<Statement> prepare_stream(const std::string& sql) override;
  [[nodiscard]] std::unique_ptr<Statement> prepare_insert(const std::string& table,
                                                          std::string_view columns,
                                                          std::size_t count) override;
  // A copy has a start of its own; the rows of one are in memory.
  [[nodiscard]] std::size_t rows_per_insert() const override { return 1024; }
  void execute(const std::string& sql) override { (void)query(sql); }
  void begin(Connection::TransactionKind kind) override;
  void commit(Connection::TransactionKind kind) override;
  void rollback() noexcept override;
  [[nodiscard]] bool has_row_locks() const override { return true; }
  [[nodiscard]] std::unique_ptr<Connection::Lock> try_lock(const results::RunId& run) override;
  [[nodiscard]] Contents contents() override;
  [[nodiscard]] std::string history_sql() const override;
  [[nodiscard]] std::string migration_sql(std::string_view sql) const override;
  [[nodiscard]] std::vector<std::string> structural_faults() override;
  [[nodiscard]] std::string_view restore_advice() const override;
  void shrink() override;
  [[nodiscard]] bool keeps_free_room() const override { return true; }

 private:
  struct Close {
    void operator()(pg_conn* handle) const noexcept;
  };
  void set_up(std::chrono::milliseconds patience);
  /// Returns an answer. Throws the Error for one that says that something failed.
  Result checked(pg_result* result) const;
  /// Waits for what was queued. Throws for the first that failed.
  void drain();
  [[nodiscard]] std::int64_t lock_number(std::string_view of) const;
  void drop_locks() noexcept;

  std::string url_;
  bool for_reading_;
  std::unique_ptr<pg_conn, Close> handle_;
  std::string schema_;
  int queued_ = 0;
  bool copies_rows_ = false;
  int statements_ = 0;
  std::vector<std::int64_t> locks_to_drop_;
};

}  // namespace plumb::store
