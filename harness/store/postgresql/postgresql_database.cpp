// SPDX-License-Identifier: Apache-2.0
// What a store needs of a PostgreSQL database beyond a connection.

#include <fmt/format.h>
#include <libpq-fe.h>

#include <cstddef>
#include <cstdint>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/store/postgresql/postgresql_connection.hpp"
#include "harness/store/tables/connection.hpp"

namespace plumb::store {
namespace {

/// Returns SQL with its parameters, which are written as `?`, replaced by `text_of(0)`,
/// `text_of(1)`, …
template <typename TextOf>
[[nodiscard]] std::string with_parameters(std::string_view sql, const TextOf& text_of) {
  std::string result;
  std::size_t parameter = 0;
  bool quoted = false;
  for (const char c : sql) {
    quoted = quoted != (c == '\'');
    if (c == '?' && !quoted) {
      result += text_of(parameter++);
    } else {
      result += c;
    }
  }
  return result;
}

/// Returns SQL with its parameters numbered, as PostgreSQL writes them.
[[nodiscard]] std::string numbered(std::string_view sql) {
  return with_parameters(sql, [](std::size_t i) { return '$' + std::to_string(i + 1); });
}

/// One statement prepared by a server. All rows of an answer are in memory until the reset.
class PostgresqlStatement : public Statement {
 public:
  using Statement::bind;

  /// Prepares `sql`, with parameters written as `?`. `connection` must live longer.
  PostgresqlStatement(PostgresqlConnection& connection, std::string_view sql);

  PostgresqlStatement& bind(std::int64_t value) final;
  PostgresqlStatement& bind(double value) final;
  PostgresqlStatement& bind(std::string_view text) final { return bind_bytes(text); }
  PostgresqlStatement& bind_bytes(std::string_view bytes) final;
  PostgresqlStatement& bind_null() final;
  bool step() override;
  void run() override;
  void reset() noexcept override;
  [[nodiscard]] std::int64_t integer() final;
  [[nodiscard]] double number() final;
  [[nodiscard]] std::string_view text_view() final { return blob_view(); }
  [[nodiscard]] std::string_view blob_view() final { return columns_.at(column_++); }

 protected:
  [[nodiscard]] PostgresqlConnection& connection() const { return connection_; }
  /// Returns the parameters in the text of a statement as SQL writes them.
  [[nodiscard]] std::vector<std::string> literals() const;
  /// Returns the columns of the current row, to be set: their bytes. That of a null has no data.
  [[nodiscard]] std::vector<std::string_view>& start_row();

 private:
  [[nodiscard]] bool skip_null() final;
  [[nodiscard]] unsigned next_type() const;

  PostgresqlConnection& connection_;
  std::string name_;
  std::vector<unsigned> parameter_types_;
  std::vector<unsigned> column_types_;
  std::vector<PostgresqlConnection::Value> parameters_;
  std::vector<std::string_view> columns_;  ///< of the current row
  std::size_t column_ = 0;
  PostgresqlConnection::Result result_;
  int row_ = 0;
};

PostgresqlStatement::PostgresqlStatement(PostgresqlConnection& connection, std::string_view sql)
    : connection_(connection), name_(connection.new_statement_name()) {
  const PostgresqlConnection::Result description = connection.describe(name_, numbered(sql));
  for (int i = 0; i < PQnparams(description.get()); ++i) {
    parameter_types_.push_back(PQparamtype(description.get(), i));
  }
  for (int i = 0; i < PQnfields(description.get()); ++i) {
    column_types_.push_back(PQftype(description.get(), i));
  }
  columns_.resize(column_types_.size());
}

PostgresqlStatement& PostgresqlStatement::bind(std::int64_t value) {
  parameters_.emplace_back(next_type(), value);
  return *this;
}

PostgresqlStatement& PostgresqlStatement::bind(double value) {
  parameters_.emplace_back(next_type(), value);
  return *this;
}

PostgresqlStatement& PostgresqlStatement::bind_bytes(std::string_view bytes) {
  parameters_.emplace_back(bytes);
  return *this;
}

PostgresqlStatement& PostgresqlStatement::bind_null() {
  parameters_.emplace_back();
  return *this;
}

unsigned PostgresqlStatement::next_type() const {
  PLUMB_CHECK(parameters_.size() < parameter_types_.size());
  return parameter_types_[parameters_.size()];
}

std::vector<std::string> PostgresqlStatement::literals() const {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const PostgresqlConnection::Value& value = parameters_[i];
    if (value.is_null()) {
      texts.emplace_back("null");
    } else if (value.is_number()) {
      texts.push_back('\'' + number_text(parameter_types_.at(i), value.bytes()) + '\'');
    } else {
      texts.push_back(connection_.literal(value.bytes()));
    }
  }
  return texts;
}

bool PostgresqlStatement::step() {
  if (!result_) {
    row_ = -1;
    result_ = connection_.run(name_, parameters_);
  }
  const pg_result* const result = result_.get();
  if (++row_ == PQntuples(result)) {
    reset();
    return false;
  }
  std::vector<std::string_view>& columns = start_row();
  for (int i = 0; i < static_cast<int>(columns.size()); ++i) {
    columns[static_cast<std::size_t>(i)] =
        PQgetisnull(result, row_, i) != 0
            ? std::string_view()
            : std::string_view(PQgetvalue(result, row_, i),
                               static_cast<std::size_t>(PQgetlength(result, row_, i)));
  }
  return true;
}

void PostgresqlStatement::run() {
  connection_.queue(name_, parameters_);
  reset();
}

void PostgresqlStatement::reset() noexcept {
  parameters_.clear();
  result_.reset();
}

std::vector<std::string_view>& PostgresqlStatement::start_row() {
  column_ = 0;
  return columns_;
}

bool PostgresqlStatement::skip_null() {
  const bool null = columns_.at(column_).data() == nullptr;
  column_ += null ? 1 : 0;
  return null;
}

std::int64_t PostgresqlStatement::integer() {
  const std::size_t column = column_;
  return skip_null() ? 0 : read_integer(column_types_[column], blob_view());
}

double PostgresqlStatement::number() {
  const std::size_t column = column_;
  return skip_null() ? 0.0 : read_number(column_types_[column], blob_view());
}

// What surrounds the rows of COPY in its binary form: the signature, flags, and the length of an
// extension; and the end (the manual's page of COPY, "Binary Format").
constexpr std::string_view kCopyHeader("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19);
constexpr std::string_view kCopyEnd("\377\377", 2);
// A column is the length of its bytes, and these.
constexpr std::size_t kLengthBytes = 4;
constexpr std::string_view kNullLength("\377\377\377\377", kLengthBytes);

/// Insertion of rows by COPY in its binary form. Values are bound row by row; it has no columns.
class CopyStatement final : public Statement {
 public:
  using Statement::bind;

  CopyStatement(PostgresqlConnection& connection,
                const std::string& table,
                std::string_view columns);

  CopyStatement& bind(std::int64_t value) override;
  CopyStatement& bind(double value) override;
  CopyStatement& bind(std::string_view text) override { return bind_bytes(text); }
  CopyStatement& bind_bytes(std::string_view bytes) override;
  CopyStatement& bind_null() override;
  /// Sends the rows. There is no row to step to.
  bool step() override;
  void reset() noexcept override;
  [[nodiscard]] std::int64_t integer() override { return 0; }
  [[nodiscard]] double number() override { return 0.0; }
  [[nodiscard]] std::string_view text_view() override { return {}; }
  [[nodiscard]] std::string_view blob_view() override { return {}; }

 private:
  [[nodiscard]] bool skip_null() override { return true; }
  [[nodiscard]] unsigned next_type() const { return types_[column_]; }
  CopyStatement& put(const PostgresqlConnection::Value& value);

  PostgresqlConnection& connection_;
  std::string sql_;
  std::vector<unsigned> types_;  ///< of the columns
  std::string bytes_;
  std::size_t column_ = 0;
};

void append_big_endian(std::string& out, std::uint32_t value, unsigned bytes) {
  while (bytes-- > 0) {
    out += static_cast<char>(static_cast<unsigned char>(value >> (8 * bytes)));
  }
}

CopyStatement::CopyStatement(PostgresqlConnection& connection,
                             const std::string& table,
                             std::string_view columns)
    : connection_(connection),
      sql_(fmt::format("copy {} ({}) from stdin (format binary)", table, columns)) {
  const PostgresqlConnection::Result description =
      connection.describe(connection.new_statement_name(),
                          fmt::format("select {} from {} where false", columns, table));
  for (int i = 0; i < PQnfields(description.get()); ++i) {
    types_.push_back(PQftype(description.get(), i));
  }
}

CopyStatement& CopyStatement::put(const PostgresqlConnection::Value& value) {
  if (column_ == 0) {
    append_big_endian(bytes_, static_cast<std::uint32_t>(types_.size()), 2);
  }
  if (value.is_null()) {
    append_big_endian(bytes_, 0xFFFFFFFFU, 4);
  } else {
    append_big_endian(bytes_, static_cast<std::uint32_t>(value.bytes().size()), 4);
    bytes_ += value.bytes();
  }
  column_ = (column_ + 1) % types_.size();
  return *this;
}

CopyStatement& CopyStatement::bind(std::int64_t value) {
  return put(PostgresqlConnection::Value(next_type(), value));
}

CopyStatement& CopyStatement::bind(double value) {
  return put(PostgresqlConnection::Value(next_type(), value));
}

CopyStatement& CopyStatement::bind_bytes(std::string_view bytes) {
  return put(PostgresqlConnection::Value(bytes));
}

CopyStatement& CopyStatement::bind_null() {
  return put(PostgresqlConnection::Value());
}

bool CopyStatement::step() {
  PLUMB_CHECK(column_ == 0);
  bytes_ += kCopyEnd;
  connection_.copy(sql_, bytes_);
  reset();
  return false;
}

void CopyStatement::reset() noexcept {
  bytes_ = kCopyHeader;
  column_ = 0;
}

/// Query whose rows are read while the server still makes others: `COPY (…) TO STDOUT` in its
/// binary form. From the first step to the end or the reset, its connection is for it alone. Its
/// parameters, texts and numbers, become part of the query's text.
class RowStream final : public PostgresqlStatement {
 public:
  RowStream(PostgresqlConnection& connection, const std::string& sql)
      : PostgresqlStatement(connection, sql), sql_(sql) {}

  bool step() override;
  void reset() noexcept override;

 private:
  std::string sql_;
  bool open_ = false;
  PostgresqlConnection::CopiedRow row_;
};

/// Returns and removes the first bytes of a row.
std::string_view take(std::string_view& row, std::size_t size) {
  PLUMB_CHECK(size <= row.size());
  const std::string_view bytes = row.substr(0, size);
  row.remove_prefix(size);
  return bytes;
}

bool RowStream::step() {
  const bool first = !std::exchange(open_, true);
  if (first) {
    connection().start_rows(
        with_parameters(sql_, [texts = literals()](std::size_t i) { return texts.at(i); }));
  }
  row_ = connection().next_row();
  std::string_view rest(row_.bytes.get(), row_.size);
  if (first) {
    (void)take(rest, kCopyHeader.size());
  }
  if (take(rest, kCopyEnd.size()) == kCopyEnd) {  // else the number of columns
    reset();
    return false;
  }
  for (std::string_view& column : start_row()) {
    const std::string_view length = take(rest, kLengthBytes);
    column =
        length == kNullLength ? std::string_view() : take(rest, read_bytes<std::uint32_t>(length));
  }
  return true;
}

void RowStream::reset() noexcept {
  if (std::exchange(open_, false)) {
    connection().end_rows();
  }
  PostgresqlStatement::reset();
  row_ = {};
}

/// Lock of a run in the session of a connection. The server drops it when the session ends.
class SessionLock final : public Connection::Lock {
 public:
  SessionLock(PostgresqlConnection& connection, std::int64_t number)
      : connection_(connection), number_(number) {}
  ~SessionLock() override { connection_.unlock(number_); }
  SessionLock(const SessionLock&) = delete;
  SessionLock& operator=(const SessionLock&) = delete;
  SessionLock(SessionLock&&) = delete;
  SessionLock& operator=(SessionLock&&) = delete;

 private:
  PostgresqlConnection& connection_;
  std::int64_t number_;
};

// Tables of the schema that comes first in the search path.
constexpr const char* kFromTables =
    "from pg_class where relkind in ('r', 'p') and relnamespace = "
    "(select oid from pg_namespace where nspname = current_schema())";

std::size_t count_references() {
  std::size_t count = 0;
  for (const Connection::Migration& migration : migrations()) {
    constexpr std::string_view kWord = " references ";
    for (std::size_t at = migration.sql.find(kWord); at != std::string_view::npos;
         at = migration.sql.find(kWord, at + 1)) {
      ++count;
    }
  }
  return count;
}

}  // namespace

std::unique_ptr<Statement> PostgresqlConnection::prepare(const std::string& sql) {
  return std::make_unique<PostgresqlStatement>(*this, sql);
}

std::unique_ptr<Statement> PostgresqlConnection::prepare_stream(const std::string& sql) {
  return std::make_unique<RowStream>(*this, sql);
}

std::unique_ptr<Statement> PostgresqlConnection::prepare_insert(const std::string& table,
                                                                std::string_view columns,
                                                                std::size_t /*count*/) {
  return std::make_unique<CopyStatement>(*this, table, columns);
}

Bytes PostgresqlConnection::size() {
  return Bytes{query_number(
      fmt::format("select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint {}", kFromTables))};
}

std::unique_ptr<Connection::Lock> PostgresqlConnection::try_lock(const results::RunId& run) {
  const std::int64_t number = lock_number("run " + run);
  const bool locked =
      query_number(fmt::format("select pg_try_advisory_lock({})::integer", number)) != 0;
  return locked ? std::make_unique<SessionLock>(*this, number) : nullptr;
}

Connection::Contents PostgresqlConnection::contents() {
  PostgresqlStatement statement(
      *this,
      fmt::format("select count(*), coalesce(sum(case when relname = 'migrations' then 1 else 0 "
                  "end), 0) {}",
                  kFromTables));
  PLUMB_CHECK(statement.step());
  Contents contents;
  contents.tables = statement.integer();
  contents.has_history = statement.flag();
  return contents;
}

std::string PostgresqlConnection::history_sql() const {
  // The count tells readers that something was stored.
  return "create table migrations (number integer primary key, name text not null); "
         "create table store_writes (count bigint not null); "
         "insert into store_writes (count) values (0)";
}

std::string PostgresqlConnection::migration_sql(std::string_view sql) const {
  // In SQLite, integers have 64 bits.
  static const std::regex key("integer primary key");
  return std::regex_replace(std::string(sql), key, "bigint primary key");
}

std::vector<std::string> PostgresqlConnection::structural_faults() {
  struct Reference {
    std::string table;
    std::string column;
    std::string to_table;
    std::string to_column;
  };
  std::vector<Reference> references;
  PostgresqlStatement statement(
      *this,
      "select c.relname::text, a.attname::text, p.relname::text, b.attname::text "
      "from pg_constraint f join pg_class c on c.oid = f.conrelid "
      "join pg_class p on p.oid = f.confrelid "
      "join pg_attribute a on a.attrelid = c.oid and a.attnum = f.conkey[1] "
      "join pg_attribute b on b.attrelid = p.oid and b.attnum = f.confkey[1] "
      "where f.contype = 'f' and c.relnamespace = "
      "(select oid from pg_namespace where nspname = current_schema()) order by 1, 2");
  while (statement.step()) {
    Reference reference;
    for (std::string* const text :
         {&reference.table, &reference.column, &reference.to_table, &reference.to_column}) {
      *text = statement.text();
    }
    references.push_back(std::move(reference));
  }
  std::vector<std::string> faults;
  if (references.size() < count_references()) {
    faults.push_back(fmt::format(
        "schema: the server guards {} references, not {}", references.size(), count_references()));
  }
  // A dump that was restored without triggers may lack rows.
  for (const Reference& each : references) {
    const std::int64_t count =
        query_number(fmt::format("select count(*) from {0} c where c.{1} is not null and not "
                                 "exists (select 1 from {2} p where p.{3} = c.{1})",
                                 each.table,
                                 each.column,
                                 each.to_table,
                                 each.to_column));
    if (count > 0) {
      faults.push_back(fmt::format(
          "{}: {} rows refer to rows of {} that do not exist", each.table, count, each.to_table));
    }
  }
  return faults;
}

}  // namespace plumb::store
