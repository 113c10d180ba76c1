// SPDX-License-Identifier: Apache-2.0
#include "harness/store/sqlite/run_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/results/json_object.hpp"
#include "harness/store/content_hash.hpp"

namespace plumb {
namespace {

using nlohmann::json;

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

Facts facts_from(const std::string& text) {
  const json value = {{"facts", parse_json(text)}};
  return JsonObject(value).facts("facts");
}

constexpr std::string_view kSelectRecord =
    "select r.id, r.suite, r.suite_hash, r.backend, r.stack, e.identity, r.facts, r.shard, "
    "r.command, r.started, r.state, r.finished, r.rows_ok, r.rows_failed, "
    "(select count(*) from reused_rows u where u.run = r.number), {} "
    "from runs r join environments e on e.number = r.environment "
    "join suites s on s.hash = r.resolved_hash ";

std::string select_record(RunTable::Detail detail) {
  return fmt::format(fmt::runtime(kSelectRecord),
                     detail == RunTable::Detail::kFull ? "s.resolved" : "''");
}

RunRecord read_record(SqliteStatement& statement) {
  RunRecord record;
  RunHeader& header = record.header;
  header.id = statement.text();
  header.suite = statement.text();
  header.suite_hash = statement.text();
  header.backend = statement.text();
  header.stack = statement.text();
  header.environment.identity = facts_from(statement.text());
  header.environment.facts = facts_from(statement.text());
  header.shard = statement.text();
  const json command = {{"command", parse_json(statement.text())}};
  header.command = JsonObject(command).texts("command", 1'000'000);
  header.started = statement.time();
  const std::string state = statement.text();
  const std::optional<RunState> known = parse_run_state(state);
  if (!known) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("run {} has the unknown state '{}': the store is damaged; run plumb "
                            "store verify",
                            header.id,
                            state));
  }
  record.state = *known;
  record.finished = statement.optional_time();
  record.rows_ok = statement.integer();
  record.rows_failed = statement.integer();
  record.rows_reused = statement.integer();
  header.resolved_suite = statement.text();
  return record;
}

}  // namespace

std::int64_t run_checksum(const RunHeader& header) {
  ContentHash hash;
  for (const std::string* const text : {&header.id,
                                        &header.suite,
                                        &header.suite_hash,
                                        &header.resolved_suite,
                                        &header.backend,
                                        &header.stack,
                                        &header.shard}) {
    hash.add(std::string_view(*text));
  }
  for (const Facts* const facts : {&header.environment.identity, &header.environment.facts}) {
    hash.add(std::string_view(dump(*facts)));
  }
  hash.add(std::string_view(dump(header.command)));
  hash.add(std::int64_t{header.started.time_since_epoch().count()});
  return hash.stored();
}

std::int64_t RunTable::environment_number(const Environment& environment) {
  const std::string id = environment.id();
  {
    const StatementUse find = statements_.use("select number from environments where id = ?");
    find->bind(std::string_view(id));
    if (find->step()) {
      return find->integer();
    }
  }
  const std::string identity = dump(environment.identity);
  const StatementUse insert = statements_.use(
      "insert into environments (number, id, identity) "
      "select coalesce(max(number), 0) + 1, ?, ? from environments returning number");
  insert->bind(std::string_view(id)).bind(std::string_view(identity));
  PLUMB_CHECK(insert->step());
  return insert->integer();
}

void RunTable::insert(const RunHeader& header) {
  PLUMB_CHECK(!header.id.empty());
  if (find(header.id)) {
    throw Error(Error::Kind::kInternal,
                fmt::format("run {} is in the store already; please report this bug", header.id));
  }
  const std::int64_t environment = environment_number(header.environment);
  const std::string resolved_hash = sha256(header.resolved_suite);
  {
    const StatementUse suite =
        statements_.use("insert into suites (hash, resolved) values (?, ?) on conflict do nothing");
    suite->bind(std::string_view(resolved_hash)).bind(std::string_view(header.resolved_suite));
    suite->run();
  }
  const std::string facts = dump(header.environment.facts);
  const std::string command = dump(header.command);
  const StatementUse statement = statements_.use(
      "insert into runs (number, id, suite, suite_hash, resolved_hash, backend, stack, "
      "environment, facts, shard, command, started, state, finished, next_position, rows_ok, "
      "rows_failed, checksum) select coalesce(max(number), 0) + 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?, 'running', null, 0, 0, 0, ? from runs");
  for (const std::string* const text : {&header.id,
                                        &header.suite,
                                        &header.suite_hash,
                                        &resolved_hash,
                                        &header.backend,
                                        &header.stack}) {
    statement->bind(std::string_view(*text));
  }
  statement->bind(environment).bind(std::string_view(facts)).bind(std::string_view(header.shard));
  statement->bind(std::string_view(command)).bind(header.started).bind(run_checksum(header));
  statement->run();
}

std::optional<RunTable::Entry> RunTable::find(const RunId& run) {
  const StatementUse statement = statements_.use(
      "select number, environment, started, next_position, state from runs where id = ?");
  statement->bind(std::string_view(run));
  if (!statement->step()) {
    return std::nullopt;
  }
  Entry entry;
  entry.run.number = statement->integer();
  entry.run.environment = statement->integer();
  entry.run.started = statement->time();
  entry.id_checksum = ContentHash().bytes(run).stored();
  entry.next_position = statement->integer();
  entry.state = parse_run_state(statement->text_view()).value_or(RunState::kRunning);
  return entry;
}

RunTable::Entry RunTable::require(const RunId& run) {
  const std::optional<Entry> entry = find(run);
  if (!entry) {
    throw Error(Error::Kind::kInternal,
                fmt::format("run '{}' is not in the store; please report this bug", run));
  }
  return *entry;
}

void RunTable::count_rows(const Entry& entry, std::span<const Measurement> rows) {
  const auto ok = std::count_if(
      rows.begin(), rows.end(), [](const Measurement& row) { return row.outcome.timed(); });
  const auto skipped = std::count_if(rows.begin(), rows.end(), [](const Measurement& row) {
    return row.outcome.kind == Outcome::Kind::kSkipped;
  });
  const StatementUse statement = statements_.use(
      "update runs set next_position = next_position + ?, rows_ok = rows_ok + ?, "
      "rows_failed = rows_failed + ?, state = 'running', finished = null where number = ?");
  const auto total = static_cast<std::int64_t>(rows.size());
  statement->bind(total).bind(std::int64_t{ok}).bind(total - ok - skipped);
  statement->bind(entry.run.number).run();
}

void RunTable::set_state(std::int64_t number, RunState state, std::optional<Timestamp> finished) {
  const StatementUse statement =
      statements_.use("update runs set state = ?, finished = ? where number = ?");
  statement->bind(to_text(state)).bind(finished).bind(number).run();
}

std::vector<RunRecord> RunTable::records(Detail detail) {
  std::vector<RunRecord> result;
  {
    const StatementUse statement =
        statements_.use(select_record(detail) + "order by r.started desc, r.number desc");
    while (statement->step()) {
      result.push_back(read_record(*statement));
    }
  }
  const StatementUse tags = statements_.use(
      "select r.id, t.tag from tags t join runs r on r.number = t.run order by t.tag");
  while (tags->step()) {
    const std::string run = tags->text();
    const auto tagged = std::find_if(result.begin(), result.end(), [&](const RunRecord& record) {
      return record.header.id == run;
    });
    if (tagged != result.end()) {
      tagged->tags.push_back(tags->text());
    }
  }
  return result;
}

RunRecord RunTable::record(const RunId& run, Detail detail) {
  RunRecord result;
  {
    const StatementUse statement = statements_.use(select_record(detail) + "where r.id = ?");
    statement->bind(std::string_view(run));
    PLUMB_CHECK(statement->step());
    result = read_record(*statement);
  }
  const StatementUse tags = statements_.use(
      "select t.tag from tags t join runs r on r.number = t.run where r.id = ? order by t.tag");
  tags->bind(std::string_view(run));
  while (tags->step()) {
    result.tags.push_back(tags->text());
  }
  return result;
}

RunId RunTable::resolve(const std::string& name) {
  if (name == "@latest") {
    const StatementUse latest =
        statements_.use("select id from runs order by started desc, number desc limit 1");
    if (latest->step()) {
      return latest->text();
    }
    throw Error(Error::Kind::kUser, "the store holds no run yet: make one with plumb run SUITE");
  }
  for (const char* const sql : {"select id from runs where id = ?",
                                "select r.id from runs r join tags t on t.run = r.number "
                                "where t.tag = ?"}) {
    const StatementUse statement = statements_.use(sql);
    statement->bind(std::string_view(name));
    if (statement->step()) {
      return statement->text();
    }
  }
  std::vector<std::string> matches;
  const StatementUse prefix =
      statements_.use("select id from runs where substr(id, 1, ?) = ? order by id limit 5");
  prefix->bind(static_cast<std::int64_t>(name.size())).bind(std::string_view(name));
  while (!name.empty() && prefix->step()) {
    matches.push_back(prefix->text());
  }
  if (matches.size() == 1) {
    return matches.front();
  }
  throw Error(Error::Kind::kUser,
              matches.empty()
                  ? fmt::format("there is no run or tag '{}': {}", name, what_there_is())
                  : fmt::format("'{}' is the beginning of several runs ({}): write more of the id",
                                name,
                                fmt::join(matches, ", ")));
}

std::string RunTable::what_there_is() {
  std::vector<std::string> names;
  for (const char* const sql : {"select id from runs order by started desc, number desc limit 8",
                                "select tag from tags order by tag limit 8"}) {
    const StatementUse statement = statements_.use(sql);
    while (statement->step()) {
      names.push_back(statement->text());
    }
  }
  return names.empty() ? std::string("the store is empty")
                       : fmt::format("the newest runs and tags are {}", fmt::join(names, ", "));
}

bool RunTable::has_tag(const std::string& tag) {
  const StatementUse statement = statements_.use("select run from tags where tag = ?");
  statement->bind(std::string_view(tag));
  return statement->step();
}

void RunTable::tag(std::int64_t number, const std::string& tag) {
  const bool good = !tag.empty() && tag.size() <= 100 && tag.front() != '@' && tag.front() != '-' &&
                    std::all_of(tag.begin(), tag.end(), [](char c) {
                      return static_cast<unsigned char>(c) > 0x20 && c != 0x7F;
                    });
  if (!good) {
    throw Error(Error::Kind::kUser,
                fmt::format("'{}' cannot be a tag: write 1 to 100 characters without spaces that "
                            "do not begin with '@' or '-'",
                            tag));
  }
  if (find(tag)) {
    throw Error(Error::Kind::kUser, fmt::format("'{}' cannot be a tag: a run has this id", tag));
  }
  const StatementUse statement = statements_.use(
      "insert into tags (tag, run) values (?, ?) on conflict (tag) do update set run = "
      "excluded.run");
  statement->bind(std::string_view(tag)).bind(number).run();
}

}  // namespace plumb
