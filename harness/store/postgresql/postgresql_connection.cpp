// SPDX-License-Identifier: Apache-2.0
#include "harness/store/postgresql/postgresql_connection.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <limits>
#include <memory>
#include <utility>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/store/store_errors.hpp"

namespace plumb::store {
namespace {

// The numbers of built-in types never change (catalog/pg_type.dat).
constexpr unsigned kBool = 16;
constexpr unsigned kInt8 = 20;
constexpr unsigned kInt2 = 21;
constexpr unsigned kInt4 = 23;
constexpr unsigned kFloat8 = 701;

template <typename Integer>
Integer narrow(std::int64_t value) {
  if (value < std::numeric_limits<Integer>::min() || value > std::numeric_limits<Integer>::max()) {
    throw Error(
        Error::Kind::kInternal,
        fmt::format("{} does not fit its column in the store; please report this bug", value));
  }
  return static_cast<Integer>(value);
}

StoreDamage wrong_type(unsigned type) {
  return damaged_store(fmt::format("a column has the type {}, which it should not have", type));
}

}  // namespace

template <typename Integer>
void PostgresqlConnection::Value::put(Integer value) {
  const auto bits = static_cast<std::make_unsigned_t<Integer>>(value);
  used_ = sizeof bits;
  for (std::size_t i = 0; i < used_; ++i) {
    inside_.at(i) = static_cast<char>(static_cast<unsigned char>(bits >> (8 * (used_ - 1 - i))));
  }
}

PostgresqlConnection::Value::Value(unsigned type, std::int64_t value) {
  switch (type) {
    case kInt8:
      put(value);
      break;
    case kInt4:
      put(narrow<std::int32_t>(value));
      break;
    case kInt2:
      put(narrow<std::int16_t>(value));
      break;
    default:
      throw wrong_type(type);
  }
}

PostgresqlConnection::Value::Value(unsigned type, double value) {
  if (type != kFloat8) {
    throw wrong_type(type);
  }
  put(std::bit_cast<std::int64_t>(value));
}

std::int64_t read_integer(unsigned type, std::string_view bytes) {
  switch (type) {
    case kInt8:
      return read_bytes<std::int64_t>(bytes);
    case kInt4:
      return read_bytes<std::int32_t>(bytes);
    case kInt2:
      return read_bytes<std::int16_t>(bytes);
    case kBool:
      return bytes == std::string_view("\1", 1) ? 1 : 0;
    default:
      throw wrong_type(type);
  }
}

double read_number(unsigned type, std::string_view bytes) {
  if (type != kFloat8) {
    throw wrong_type(type);
  }
  return std::bit_cast<double>(read_bytes<std::int64_t>(bytes));
}

std::string number_text(unsigned type, std::string_view bytes) {
  return type == kFloat8 ? fmt::format("{}", read_number(type, bytes))
                         : fmt::format("{}", read_integer(type, bytes));
}

namespace {

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

}  // namespace

bool is_postgresql_url(std::string_view url) {
  return url.starts_with("postgresql://") || url.starts_with("postgres://");
}

void check_postgresql_url(const std::string& url) {
  char* message = nullptr;
  const std::unique_ptr<PQconninfoOption, FreeOptions> options(
      PQconninfoParse(url.c_str(), &message));
  PQfreemem(message);  // It repeats parts of the URL, and one may be a password.
  if (!options) {
    throw Error(Error::Kind::kUser,
                "the URL of the PostgreSQL store cannot be read (it is not repeated here, as it "
                "may hold a password): write postgresql://USER@HOST:PORT/DATABASE?NAME=VALUE");
  }
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    const std::string_view name = option->keyword;
    if (option->val != nullptr && (name == "password" || name == "sslpassword")) {
      throw Error(Error::Kind::kUser,
                  "the URL of the PostgreSQL store holds a password, which others can read in the "
                  "list of processes: change that password, write the URL without it, and keep "
                  "the new one in ~/.pgpass (or PGPASSFILE, or a service file)");
    }
  }
}

namespace {

// What is queued is bounded, so that neither side waits for the other to read.
constexpr int kMaxQueued = 256;

/// Parameters of a prepared statement as libpq takes them.
struct Arrays {
  explicit Arrays(std::span<const PostgresqlConnection::Value> values) {
    for (const PostgresqlConnection::Value& value : values) {
      pointers.push_back(value.is_null() ? nullptr : value.bytes().data());
      lengths.push_back(static_cast<int>(value.bytes().size()));
      formats.push_back(1);
    }
  }
  [[nodiscard]] int count() const { return static_cast<int>(pointers.size()); }
  std::vector<const char*> pointers;
  std::vector<int> lengths;
  std::vector<int> formats;
};

}  // namespace

void PostgresqlConnection::FreeResult::operator()(pg_result* result) const noexcept {
  PQclear(result);
}

void PostgresqlConnection::CopiedRow::Free::operator()(char* bytes) const noexcept {
  PQfreemem(bytes);
}

void PostgresqlConnection::Close::operator()(pg_conn* handle) const noexcept {
  PQfinish(handle);
}

PostgresqlConnection::PostgresqlConnection(std::string url,
                                           bool for_reading,
                                           std::chrono::milliseconds patience)
    : url_(std::move(url)), for_reading_(for_reading) {
  check_postgresql_url(url_);
  // What stands before the URL may be set otherwise in it.
  const std::array names{"connect_timeout",
                         "keepalives_idle",
                         "keepalives_interval",
                         "keepalives_count",
                         "tcp_user_timeout",
                         "fallback_application_name",
                         "dbname",
                         "client_encoding",
                         static_cast<const char*>(nullptr)};
  const std::array values{"10",
                          "15",
                          "5",
                          "3",
                          "30000",
                          "plumb",
                          url_.c_str(),
                          "UTF8",
                          static_cast<const char*>(nullptr)};
  handle_.reset(PQconnectdbParams(names.data(), values.data(), 1));
  PLUMB_CHECK(handle_ != nullptr);
  PQsetNoticeProcessor(
      handle_.get(), [](void*, const char*) {}, nullptr);
  if (PQstatus(handle_.get()) != CONNECTION_OK) {
    throw_failed_connection(*handle_, url_);
  }
  set_up(patience);
}

void PostgresqlConnection::set_up(std::chrono::milliseconds patience) {
  const char* const encoding = PQparameterStatus(handle_.get(), "server_encoding");
  if (encoding == nullptr || std::string_view(encoding) != "UTF8") {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("the database of the store '{}' has the encoding {}: make one with "
                            "createdb --encoding UTF8 --template template0",
                            url_,
                            encoding == nullptr ? "unknown" : encoding));
  }
  // A server drops the locks of a client that stopped amid a transaction, or whose machine is gone.
  (void)query(
      fmt::format("set lock_timeout = {}; set idle_in_transaction_session_timeout = '60s'; "
                  "set tcp_keepalives_idle = 15; set tcp_keepalives_interval = 5; "
                  "set tcp_keepalives_count = 3; set jit = off",
                  patience.count()));
  const Result schema = query("select current_schema()");
  if (PQgetisnull(schema.get(), 0, 0) != 0) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("the search path of '{}' names no schema that exists: make it with "
                            "create schema",
                            url_));
  }
  schema_ = PQgetvalue(schema.get(), 0, 0);
}

PostgresqlConnection::Result PostgresqlConnection::checked(pg_result* raw) const {
  Result result(raw);
  switch (PQresultStatus(raw)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_COPY_IN:
    case PGRES_COPY_OUT:
    case PGRES_PIPELINE_SYNC:
      return result;
    default:
      throw_failure(*handle_, raw, url_);
  }
}

PostgresqlConnection::Result PostgresqlConnection::query(const std::string& sql) {
  drain();
  return checked(PQexec(handle_.get(), sql.c_str()));
}

std::int64_t PostgresqlConnection::query_number(const std::string& sql) {
  const Result result = query(sql);
  PLUMB_CHECK(PQntuples(result.get()) == 1);
  return std::atoll(PQgetvalue(result.get(), 0, 0));
}

std::int64_t PostgresqlConnection::revision() {
  return query_number("select count from store_writes");
}

PostgresqlConnection::Result PostgresqlConnection::run(
    const std::string& statement, std::span<const PostgresqlConnection::Value> parameters) {
  drain();
  const Arrays arrays(parameters);
  return checked(PQexecPrepared(handle_.get(),
                                statement.c_str(),
                                arrays.count(),
                                arrays.pointers.data(),
                                arrays.lengths.data(),
                                arrays.formats.data(),
                                1));
}

void PostgresqlConnection::queue(const std::string& statement,
                                 std::span<const PostgresqlConnection::Value> parameters) {
  if (queued_ == kMaxQueued) {
    drain();
  }
  const Arrays arrays(parameters);
  if ((queued_ == 0 && PQenterPipelineMode(handle_.get()) == 0) ||
      PQsendQueryPrepared(handle_.get(),
                          statement.c_str(),
                          arrays.count(),
                          arrays.pointers.data(),
                          arrays.lengths.data(),
                          arrays.formats.data(),
                          1) == 0) {
    throw_failure(*handle_, nullptr, url_);
  }
  ++queued_;
}

void PostgresqlConnection::drain() {
  PLUMB_CHECK(!copies_rows_);
  if (queued_ == 0) {
    return;
  }
  const int expected = std::exchange(queued_, 0);
  if (PQpipelineSync(handle_.get()) == 0) {
    throw_failure(*handle_, nullptr, url_);
  }
  Result failed;
  for (int answer = 0; answer < expected; ++answer) {
    while (pg_result* const raw = PQgetResult(handle_.get())) {
      Result result(raw);
      const ExecStatusType status = PQresultStatus(raw);
      if (!failed && status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        failed = std::move(result);
      }
    }
  }
  const Result end(PQgetResult(handle_.get()));
  (void)PQexitPipelineMode(handle_.get());
  if (failed || PQresultStatus(end.get()) != PGRES_PIPELINE_SYNC) {
    throw_failure(*handle_, failed.get(), url_);
  }
}

PostgresqlConnection::Result PostgresqlConnection::describe(const std::string& statement,
                                                            const std::string& sql) {
  drain();
  (void)checked(PQprepare(handle_.get(), statement.c_str(), sql.c_str(), 0, nullptr));
  return checked(PQdescribePrepared(handle_.get(), statement.c_str()));
}

void PostgresqlConnection::copy(const std::string& sql, std::string_view bytes) {
  (void)query(sql);
  constexpr std::size_t kChunk = std::size_t{1} << 20U;
  while (!bytes.empty()) {
    const std::string_view chunk = bytes.substr(0, kChunk);
    if (PQputCopyData(handle_.get(), chunk.data(), static_cast<int>(chunk.size())) != 1) {
      throw_failure(*handle_, nullptr, url_);
    }
    bytes.remove_prefix(chunk.size());
  }
  if (PQputCopyEnd(handle_.get(), nullptr) != 1) {
    throw_failure(*handle_, nullptr, url_);
  }
  const Result copied = checked(PQgetResult(handle_.get()));
  while (pg_result* const rest = PQgetResult(handle_.get())) {
    PQclear(rest);
  }
}

void PostgresqlConnection::start_rows(const std::string& query_sql) {
  (void)query(fmt::format("copy ({}) to stdout (format binary)", query_sql));
  copies_rows_ = true;
}

PostgresqlConnection::CopiedRow PostgresqlConnection::next_row() {
  char* bytes = nullptr;
  const int size = PQgetCopyData(handle_.get(), &bytes, 0);
  if (size < 0) {
    throw_failure(*handle_, Result(PQgetResult(handle_.get())).get(), url_);
  }
  return {std::unique_ptr<char, PostgresqlConnection::CopiedRow::Free>(bytes),
          static_cast<std::size_t>(size)};
}

void PostgresqlConnection::end_rows() noexcept {
  copies_rows_ = false;
  char* bytes = nullptr;
  while (PQgetCopyData(handle_.get(), &bytes, 0) > 0) {
    PQfreemem(bytes);
  }
  while (pg_result* const rest = PQgetResult(handle_.get())) {
    PQclear(rest);
  }
}

std::string PostgresqlConnection::literal(std::string_view text) {
  PLUMB_CHECK(text.find('\0') == std::string_view::npos);
  const std::unique_ptr<char, PostgresqlConnection::CopiedRow::Free> quoted(
      PQescapeLiteral(handle_.get(), text.data(), text.size()));
  if (quoted == nullptr) {
    throw_failure(*handle_, nullptr, url_);
  }
  return quoted.get();
}

std::string PostgresqlConnection::new_statement_name() {
  return fmt::format("s{}", ++statements_);
}

void PostgresqlConnection::begin(Connection::TransactionKind kind) {
  if (kind == Connection::TransactionKind::kRead) {
    (void)query("begin isolation level repeatable read, read only");
    return;
  }
  if (for_reading_) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot write to the store '{}': it was not opened as writable", url_));
  }
  if (kind == Connection::TransactionKind::kClaim) {
    (void)query("begin isolation level read committed, read write");
    return;
  }
  // Writers exclude each other, as in SQLite: numbers are given by the program.
  (void)query(
      fmt::format("begin isolation level read committed, read write; "
                  "select pg_advisory_xact_lock({})",
                  lock_number("writers")));
}

void PostgresqlConnection::commit(Connection::TransactionKind kind) {
  drain();
  const Result done = query(kind == Connection::TransactionKind::kWrite
                                ? "update store_writes set count = count + 1; commit"
                                : "commit");
  // A transaction in which something failed ends with "ROLLBACK" and without an error.
  PLUMB_CHECK(std::string_view(PQcmdStatus(done.get())) == "COMMIT");
}

void PostgresqlConnection::rollback() noexcept {
  try {
    drain();
  } catch (const Error&) {
    // It is all rolled back.
  }
  if (PQtransactionStatus(handle_.get()) != PQTRANS_IDLE) {
    PQclear(PQexec(handle_.get(), "rollback"));
  }
  drop_locks();
}

std::int64_t PostgresqlConnection::lock_number(std::string_view of) const {
  const std::string text = schema_ + '/' + std::string(of);
  return static_cast<std::int64_t>(hash64(std::as_bytes(std::span(text))));
}

void PostgresqlConnection::unlock(std::int64_t lock) noexcept {
  locks_to_drop_.push_back(lock);
  if (PQtransactionStatus(handle_.get()) != PQTRANS_INERROR && queued_ == 0) {
    drop_locks();
  }
}

void PostgresqlConnection::drop_locks() noexcept {
  for (const std::int64_t lock : std::exchange(locks_to_drop_, {})) {
    const std::string sql = fmt::format("select pg_advisory_unlock({})", lock);
    PQclear(PQexec(handle_.get(), sql.c_str()));  // A lost connection has lost its locks.
  }
}

std::string_view PostgresqlConnection::restore_advice() const {
  return kRestoreDatabase;
}

void PostgresqlConnection::shrink() {
  execute(
      "vacuum (analyze) runs, measurements, reused_rows, derived, derived_inputs, newest_runs, "
      "suites, leases");
}

}  // namespace plumb::store
