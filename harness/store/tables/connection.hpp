// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "harness/base/timestamp.hpp"
#include "harness/base/units.hpp"
#include "harness/results/run.hpp"

namespace plumb::store {

/// One prepared statement. Parameters and columns are used in order:
/// `statement.bind(run).bind(text); while (statement.step()) { use(statement.integer(), …); }`
class Statement {
 public:
  Statement() = default;
  virtual ~Statement() = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  Statement(Statement&&) = delete;
  Statement& operator=(Statement&&) = delete;

  /// Binds the next parameter. Texts and blobs are not copied: keep them until the next reset.
  virtual Statement& bind(std::int64_t value) = 0;
  virtual Statement& bind(double value) = 0;
  virtual Statement& bind(std::string_view text) = 0;
  virtual Statement& bind_bytes(std::string_view bytes) = 0;
  virtual Statement& bind_null() = 0;
  Statement& bind(Timestamp time) { return bind(micros(time)); }
  Statement& bind(Seconds time) { return bind(time.count()); }
  Statement& bind_flag(bool flag) { return bind(std::int64_t{flag ? 1 : 0}); }
  /// Binds bytes. None are bound as null.
  Statement& bind_blob(std::string_view bytes) {
    return bytes.empty() ? bind_null() : bind_bytes(bytes);
  }
  Statement& bind(const char*) = delete;
  template <typename Value>
  Statement& bind(const std::optional<Value>& value) {
    return value ? bind(*value) : bind_null();
  }

  /// Advances to the next row. False: there is none, and the statement is reset for its next use.
  virtual bool step() = 0;
  /// Runs a statement whose rows are of no interest, and resets it. A database may report its
  /// failure only at the next step or at the commit.
  virtual void run() {
    while (step()) {
    }
  }
  /// Resets the statement, so that it can be bound and run again.
  virtual void reset() noexcept = 0;

  /// Returns the next column of the current row. An absent one is 0 or empty.
  [[nodiscard]] virtual std::int64_t integer() = 0;
  [[nodiscard]] virtual double number() = 0;
  /// Returns a view of the next column, valid until the next step.
  [[nodiscard]] virtual std::string_view text_view() = 0;
  [[nodiscard]] virtual std::string_view blob_view() = 0;
  [[nodiscard]] std::string text() { return std::string(text_view()); }
  [[nodiscard]] bool flag() { return integer() != 0; }
  [[nodiscard]] Seconds seconds() { return Seconds(number()); }
  [[nodiscard]] Timestamp time() { return Timestamp(std::chrono::microseconds(integer())); }
  [[nodiscard]] std::optional<std::int64_t> optional_integer() {
    return skip_null() ? std::nullopt : std::optional(integer());
  }
  [[nodiscard]] std::optional<double> optional_number() {
    return skip_null() ? std::nullopt : std::optional(number());
  }
  [[nodiscard]] std::optional<Seconds> optional_seconds() {
    return skip_null() ? std::nullopt : std::optional(seconds());
  }
  [[nodiscard]] std::optional<Timestamp> optional_time() {
    return skip_null() ? std::nullopt : std::optional(time());
  }

 private:
  static std::int64_t micros(Timestamp time) { return time.time_since_epoch().count(); }
  /// Skips the next column if it is null. Returns whether it was.
  [[nodiscard]] virtual bool skip_null() = 0;
};

/// Connection to the database of a store. For one thread at a time. It is all that a kind of
/// database must provide: the tables above it are the same in each.
class Connection {
 public:
  /// Cache of all prepared statements of a connection. The connection must live longer.
  class StatementCache {
   public:
    /// Use of a cached statement, which it resets at the end of its scope. A reader that leaves
    /// early then does not hold a snapshot open.
    class Use {
     public:
      explicit Use(Statement& statement) : statement_(statement) { statement.reset(); }
      ~Use() { statement_.reset(); }
      Use(const Use&) = delete;
      Use& operator=(const Use&) = delete;
      Use(Use&&) = delete;
      Use& operator=(Use&&) = delete;
      Statement* operator->() const { return &statement_; }
      Statement& operator*() const { return statement_; }

     private:
      Statement& statement_;
    };

    explicit StatementCache(Connection& connection) : connection_(connection) {}

    /// Returns the statement, reset and ready to be bound. Only one use of the same text at a time.
    [[nodiscard]] Use use(const std::string& sql) {
      std::unique_ptr<Statement>& statement = statements_[sql];
      if (!statement) {
        statement = connection_.prepare(sql);
      }
      return Use(*statement);
    }
    /// Returns a query of many rows, as Connection::prepare_stream() makes it.
    [[nodiscard]] Use stream(const std::string& sql) {
      std::unique_ptr<Statement>& statement = streams_[sql];
      if (!statement) {
        statement = connection_.prepare_stream(sql);
      }
      return Use(*statement);
    }
    /// Returns the insertion of `count` rows, as Connection::prepare_insert() makes it.
    [[nodiscard]] Use insert(const std::string& table,
                             std::string_view columns,
                             std::size_t count) {
      std::unique_ptr<Statement>& statement = statements_[table + ' ' + std::to_string(count)];
      if (!statement) {
        statement = connection_.prepare_insert(table, columns, count);
      }
      return Use(*statement);
    }
    [[nodiscard]] Connection& connection() { return connection_; }

   private:
    Connection& connection_;
    std::unordered_map<std::string, std::unique_ptr<Statement>> statements_;
    std::unordered_map<std::string, std::unique_ptr<Statement>> streams_;
  };

  /// Lock of one run. It ends with this object, or when its process dies.
  class Lock {
   public:
    Lock() = default;
    virtual ~Lock() = default;
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    Lock(Lock&&) = delete;
    Lock& operator=(Lock&&) = delete;
  };

  /// Step from one version of the schema to the next: a file in harness/store/migrations.
  struct Migration {
    int number = 0;         ///< the version it leads to, counted from 1
    std::string_view name;  ///< "initial"
    std::string_view sql;
  };

  /// What a transaction does.
  enum class TransactionKind {
    kRead,   ///< one snapshot for several statements
    kWrite,  ///< excludes other writers at once, waiting for them
    kClaim,  ///< writes to the tables of shared work alone, without waiting for writers
  };

  /// Transaction that is rolled back at the end of its scope unless committed.
  class Transaction {
   public:
    /// Begins a transaction. Throws Error{kTryAgain} if another process keeps the lock, and
    /// Error{kEnvironment} for a write to a read-only store.
    Transaction(Connection& connection, TransactionKind kind)
        : connection_(connection), kind_(kind) {
      connection.begin(kind);
    }
    ~Transaction() {
      if (open_) {
        connection_.rollback();
      }
    }
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    Transaction(Transaction&&) = delete;
    Transaction& operator=(Transaction&&) = delete;

    /// Commits. Throws Error{kEnvironment} if what was written is nowhere.
    void commit() {
      connection_.commit(kind_);
      open_ = false;
    }

   private:
    Connection& connection_;
    TransactionKind kind_;
    bool open_ = true;
  };

  Connection() = default;
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Returns what messages call the store: a path, or a URL. It holds no password.
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual bool read_only() const = 0;
  /// Returns a number that changes when another connection has committed something.
  [[nodiscard]] virtual std::int64_t revision() = 0;
  /// Returns the room that the store takes.
  [[nodiscard]] virtual Bytes size() = 0;

  /// Prepares a statement. Its parameters are written as `?`.
  [[nodiscard]] virtual std::unique_ptr<Statement> prepare(const std::string& sql) = 0;
  /// Prepares a query of many rows, which may come while they are read. Until its end or its reset
  /// nothing else may use the connection.
  [[nodiscard]] virtual std::unique_ptr<Statement> prepare_stream(const std::string& sql) {
    return prepare(sql);
  }
  /// Prepares the insertion of `count` rows into some columns of a table, the values of which are
  /// bound row by row. At most rows_per_insert() rows.
  [[nodiscard]] virtual std::unique_ptr<Statement> prepare_insert(const std::string& table,
                                                                  std::string_view columns,
                                                                  std::size_t count) = 0;
  [[nodiscard]] virtual std::size_t rows_per_insert() const = 0;
  /// Runs statements and ignores their rows.
  virtual void execute(const std::string& sql) = 0;

  virtual void begin(TransactionKind kind) = 0;
  /// Commits. Throws Error{kEnvironment} if what was written is nowhere.
  virtual void commit(TransactionKind kind) = 0;
  virtual void rollback() noexcept = 0;

  /// Returns whether there are row locks and a clock of the database, as claims of work need.
  [[nodiscard]] virtual bool has_row_locks() const { return false; }
  /// Locks a run for this process. Returns nothing if another connection has locked it.
  [[nodiscard]] virtual std::unique_ptr<Lock> try_lock(const results::RunId& run) = 0;

  /// What there is in a database.
  struct Contents {
    std::int64_t tables = 0;
    bool has_history = false;  ///< the table migrations
  };
  /// Reads it with one statement: another process may make or migrate the store meanwhile.
  [[nodiscard]] virtual Contents contents() = 0;
  /// Returns the statements that make the table migrations, and what this kind needs besides.
  [[nodiscard]] virtual std::string history_sql() const = 0;
  /// Returns the SQL of a migration as this kind of database takes it.
  [[nodiscard]] virtual std::string migration_sql(std::string_view sql) const = 0;

  /// Returns what is wrong with the files, the schema and the references, one line per fault.
  [[nodiscard]] virtual std::vector<std::string> structural_faults() = 0;
  /// Returns how the store is restored, to be told where it is damaged.
  [[nodiscard]] virtual std::string_view restore_advice() const = 0;
  /// Gives free room back, or makes it ready for new rows. Not within a transaction.
  virtual void shrink() = 0;
  /// Returns whether shrink() makes free room ready for new rows, instead of giving it back.
  [[nodiscard]] virtual bool keeps_free_room() const { return false; }

 protected:
  Connection(Connection&&) = default;
  Connection& operator=(Connection&&) = default;
};

/// Returns all migrations in order, compiled into the program.
[[nodiscard]] std::span<const Connection::Migration> migrations();

/// Returns the version of a database's schema: the number of its last migration, 0 if it is empty.
/// Throws Error{kEnvironment} for a database that is not a store.
[[nodiscard]] int read_schema_version(Connection& connection);

/// Migrates a database to this program's version: all of it or, on any error, nothing. An empty one
/// is always filled, an older one only if `migrate`. Throws Error{kEnvironment} naming both
/// versions for a newer store and for an older one that must not be migrated. Throws it also for an
/// older store that is read-only.
/// `guard` computes the checksums that a migration cannot, in the same transaction.
void bring_up_to_date(Connection& connection, bool migrate, const std::function<void()>& guard);

}  // namespace plumb::store
