// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/error.hpp"
#include "harness/results/results_json.hpp"
#include "harness/store/export_line.hpp"
#include "harness/store/spool/spooled_store.hpp"
#include "harness/store/sqlite/sqlite_connection.hpp"
#include "harness/store/store.hpp"
#include "harness/store/store_errors.hpp"

namespace plumb::store {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kPatience{200};

/// A write as the columns hold it.
struct StoredWrite {
  std::string kind;
  std::int64_t position = 0;  ///< of the first row, or the moment of the end
  std::int64_t rows = 0;
  std::string body;
};

StoredWrite stored(const SpooledStore::File::Rows& write) {
  std::string body = "[";
  for (const results::Measurement& row : write.rows) {
    body.append(body.size() > 1 ? "," : "").append(to_json(row));
  }
  return {"rows", write.position, static_cast<std::int64_t>(write.rows.size()), body + "]"};
}

StoredWrite stored(const SpooledStore::File::End& write) {
  return {"end", write.finished.time_since_epoch().count(), 0, std::string(to_text(write.state))};
}

StoredWrite stored(const results::DerivedRecord& write) {
  results::DerivedRecord record = write;
  record.inputs.clear();
  return {"record",
          0,
          0,
          json{{"line", to_json(ExportLine(ExportLines::Derived{record, {}}))},
               {"inputs", write.inputs}}
              .dump()};
}

StoredWrite stored(const results::StoredProfile& write) {
  return {"profile", 0, 0, to_json(ExportLine(write))};
}

SpooledStore::File::Write parsed(const StoredWrite& write) {
  if (write.kind == "rows") {
    SpooledStore::File::Rows rows{write.position, {}};
    for (const json& row : json::parse(write.body)) {
      rows.rows.push_back(results::measurement_from_json(row.dump()));
    }
    return rows;
  }
  if (write.kind == "end") {
    const std::optional<results::RunState> state = results::parse_run_state(write.body);
    return SpooledStore::File::End{state.value_or(results::RunState::kInterrupted),
                                   Timestamp(std::chrono::microseconds(write.position))};
  }
  if (write.kind == "profile") {
    return std::get<results::StoredProfile>(parse_export_line(write.body));
  }
  const json body = json::parse(write.body);
  results::DerivedRecord record =
      std::get<ExportLines::Derived>(parse_export_line(body.at("line").get<std::string>())).record;
  record.inputs = body.at("inputs").get<std::vector<results::RowId>>();
  return record;
}

std::filesystem::path file_of(const std::filesystem::path& folder,
                              const SpooledStore::File::Header& header) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("cannot make the folder '{}' for results that wait for their server: "
                            "{}",
                            folder.string(),
                            failure.message()));
  }
  return folder /
         (header.shared ? fmt::format("{}-{}.db", header.run, header.fence) : header.run + ".db");
}

}  // namespace

SpooledStore::File::File(const std::filesystem::path& folder,
                         const SpooledStore::File::Header& header)
    : path_(file_of(folder, header)), connection_(path_, false, kPatience), header_(header) {
  own();
  connection_.execute(
      "create table if not exists spool (url text not null, run text not null, fence bigint not "
      "null); create table if not exists writes (number integer primary key, kind text not null, "
      "position bigint not null, rows bigint not null, body text not null); delete from spool");
  SqliteConnection::Prepared statement(connection_,
                                       "insert into spool (url, run, fence) values (?, ?, ?)");
  statement.bind(std::string_view(header.url)).bind(std::string_view(header.run));
  statement.bind(header.fence).run();
}

SpooledStore::File::File(const std::filesystem::path& file)
    : path_(file), connection_(path_, false, kPatience) {
  own();
  SqliteConnection::Prepared statement(connection_, "select url, run, fence from spool");
  if (!statement.step()) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("'{}' is not a spool of results: move it away", file.string()));
  }
  header_.url = statement.text();
  header_.run = statement.text();
  header_.fence = statement.integer();
}

// SQLite then keeps its lock until the connection is closed, however the process ends.
void SpooledStore::File::own() {
  connection_.execute("pragma locking_mode = exclusive; begin exclusive; commit");
}

void SpooledStore::File::add(const std::vector<Write>& writes) {
  Connection::Transaction transaction(connection_, Connection::TransactionKind::kWrite);
  for (const Write& write : writes) {
    const StoredWrite columns = std::visit([](const auto& each) { return stored(each); }, write);
    SqliteConnection::Prepared statement(
        connection_, "insert into writes (kind, position, rows, body) values (?, ?, ?, ?)");
    statement.bind(std::string_view(columns.kind)).bind(columns.position).bind(columns.rows);
    statement.bind(std::string_view(columns.body)).run();
  }
  transaction.commit();
}

std::optional<SpooledStore::File::Entry> SpooledStore::File::oldest() const {
  SqliteConnection::Prepared statement(
      connection_, "select number, kind, position, rows, body from writes order by number limit 1");
  if (!statement.step()) {
    return std::nullopt;
  }
  const std::int64_t number = statement.integer();
  StoredWrite columns;
  columns.kind = statement.text();
  columns.position = statement.integer();
  columns.rows = statement.integer();
  columns.body = statement.text();
  try {
    return Entry{number, parsed(columns)};
  } catch (const std::exception& error) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("write {} of '{}' cannot be read: {}; the file is damaged",
                            number,
                            path_.string(),
                            error.what()));
  }
}

void SpooledStore::File::drop(std::int64_t number) {
  SqliteConnection::Prepared statement(connection_, "delete from writes where number = ?");
  statement.bind(number).run();
}

std::size_t SpooledStore::File::waiting_rows() const {
  SqliteConnection::Prepared statement(connection_, "select coalesce(sum(rows), 0) from writes");
  return statement.step() ? static_cast<std::size_t>(statement.integer()) : 0;
}

void SpooledStore::File::remove() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

void SpooledStore::File::set_aside() {
  std::error_code ignored;
  std::filesystem::rename(path_, path_.string() + ".refused", ignored);
}

std::vector<std::filesystem::path> find_spools(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".db") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

namespace {

/// Applies one write. Returns the number of its rows.
class Replay {
 public:
  Replay(TableStore& store, const results::RunId& run) : store_(store), run_(run) {}

  std::size_t operator()(const SpooledStore::File::Rows& write) const {
    store_.append_at(run_, write.position, write.rows);
    return write.rows.size();
  }
  std::size_t operator()(const SpooledStore::File::End& write) const {
    store_.end_again(run_, write.state, write.finished);
    return 0;
  }
  std::size_t operator()(const results::DerivedRecord& write) const {
    store_.put_derived({&write, 1});
    return 0;
  }
  std::size_t operator()(const results::StoredProfile& write) const {
    store_.put_profile(write);
    return 0;
  }

 private:
  TableStore& store_;
  const results::RunId& run_;
};

Store::SpooledRun sync(const std::filesystem::path& file,
                       const std::string& url,
                       TableStore& server) {
  Store::SpooledRun report{file.stem().string(), file, 0, 0, ""};
  try {
    SpooledStore::File spool(file);
    report.run = spool.header().run;
    report.waiting_rows = spool.waiting_rows();
    if (spool.header().url != url) {
      report.problem = fmt::format("they are for the store '{}'", spool.header().url);
      return report;
    }
    try {
      if (!server.retake(report.run, spool.header().fence)) {
        report.problem = "another process works on the run";
        return report;
      }
      report.sent_rows = replay(spool, server);
      server.release(report.run);
      report.waiting_rows = 0;
      spool.remove();
    } catch (const Store::ServerAway&) {
      throw;
    } catch (const Error& error) {
      server.release(report.run);
      report.waiting_rows = spool.waiting_rows();
      spool.set_aside();
      report.file += ".refused";
      report.problem = error.what();
    }
  } catch (const Error& error) {
    if (dynamic_cast<const Store::ServerAway*>(&error) != nullptr) {
      throw;
    }
    report.problem = error.kind() == Error::Kind::kTryAgain ? "a live process has them"
                                                            : std::string(error.what());
  }
  return report;
}

}  // namespace

std::size_t replay(SpooledStore::File& spool, TableStore& store) {
  std::size_t rows = 0;
  while (const std::optional<SpooledStore::File::Entry> entry = spool.oldest()) {
    try {
      rows += std::visit(Replay(store, spool.header().run), entry->write);
    } catch (const SharedWork::StaleClaim& stale) {
      spdlog::warn("{}", stale.what());
    }
    spool.drop(entry->number);
  }
  return rows;
}

std::vector<Store::SpooledRun> sync_spools_of(const std::filesystem::path& folder,
                                              const std::string& url,
                                              TableStore& server) {
  std::vector<Store::SpooledRun> reports;
  for (const std::filesystem::path& file : find_spools(folder)) {
    reports.push_back(sync(file, url, server));
  }
  return reports;
}

}  // namespace plumb::store
