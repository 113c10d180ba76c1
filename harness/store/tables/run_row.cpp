// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/base/error.hpp"
#include "harness/results/json_object.hpp"
#include "harness/store/content_hash.hpp"
#include "harness/store/store_errors.hpp"
#include "harness/store/tables/run_table.hpp"

namespace plumb::store {
namespace {

constexpr const char* kNote =
    "insert into newest_runs (layer_key, cache, environment, timed_run, timed_started, "
    "settled_run, settled_started) values (?, ?, ?, ?, ?, ?, ?) "
    "on conflict (layer_key, cache, environment) do update set "
    "timed_run = case when excluded.timed_run is not null and (newest_runs.timed_run is null or "
    "(excluded.timed_started, excluded.timed_run) > "
    "(newest_runs.timed_started, newest_runs.timed_run)) "
    "then excluded.timed_run else newest_runs.timed_run end, "
    "timed_started = case when excluded.timed_run is not null and (newest_runs.timed_run is null "
    "or (excluded.timed_started, excluded.timed_run) > "
    "(newest_runs.timed_started, newest_runs.timed_run)) "
    "then excluded.timed_started else newest_runs.timed_started end, "
    "settled_run = case when (excluded.settled_started, excluded.settled_run) > "
    "(newest_runs.settled_started, newest_runs.settled_run) "
    "then excluded.settled_run else newest_runs.settled_run end, "
    "settled_started = case when (excluded.settled_started, excluded.settled_run) > "
    "(newest_runs.settled_started, newest_runs.settled_run) "
    "then excluded.settled_started else newest_runs.settled_started end";

}  // namespace

bool is_timed_in_full(const results::Measurement& row) {
  return row.purpose != results::Purpose::kRace && row.outcome.timed();
}

bool settles(const results::Measurement& row) {
  switch (row.outcome.kind) {
    case results::Outcome::Kind::kUnsupported:
    case results::Outcome::Kind::kWrongResult:
    case results::Outcome::Kind::kOutOfMemory:
      return row.purpose != results::Purpose::kRace;
    default:
      return is_timed_in_full(row);
  }
}

void RunTable::Newest::note(const Run& run, std::int64_t key, const results::Measurement& row) {
  if (!settles(row)) {
    return;
  }
  if (run.number != run_) {
    noted_.clear();
    run_ = run.number;
  }
  const bool timed = is_timed_in_full(row);
  // A timed row updates both columns, so a settled row after it adds nothing.
  if (noted_.contains({key, row.cache, true}) || !noted_.emplace(key, row.cache, timed).second) {
    return;
  }
  const Connection::StatementCache::Use statement = statements_.use(kNote);
  statement->bind(key).bind(to_text(row.cache)).bind(run.environment);
  if (timed) {
    statement->bind(run.number).bind(run.started);
  } else {
    statement->bind_null().bind_null();
  }
  statement->bind(run.number).bind(run.started);
  statement->run();
}

std::optional<std::int64_t> RunTable::Newest::settled_run(const std::string& key,
                                                          results::CacheMode cache,
                                                          const std::string& environment) {
  const Connection::StatementCache::Use statement = statements_.use(
      "select n.settled_run from newest_runs n join layer_keys k on k.id = n.layer_key "
      "join environments e on e.number = n.environment "
      "where k.text = ? and n.cache = ? and e.id = ?");
  statement->bind(std::string_view(key)).bind(to_text(cache)).bind(std::string_view(environment));
  return statement->step() ? statement->optional_integer() : std::nullopt;
}

namespace {

using nlohmann::json;

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

constexpr std::string_view kSelectRecord =
    "select r.id, r.suite, r.suite_hash, r.resolved_hash, r.backend, r.stack, e.identity, r.facts, "
    "r.shard, r.command, r.started, r.brief_checksum, {}, r.checksum, "
    "(select count(*) from reused_rows u where u.run = r.number), {} "
    "from runs r left join environments e on e.number = r.environment "
    "left join suites s on s.hash = r.resolved_hash ";

results::RunHeader header_of(RunTable::Entry::BriefHeader&& brief) {
  auto& [id, suite, suite_hash, resolved, backend, stack, identity, facts, shard, command] =
      brief.texts;
  results::RunHeader header;
  try {
    header.environment = {facts_from_text(identity), facts_from_text(facts)};
    const json words = {{"command", results::parse_json(command)}};
    header.command = results::JsonObject(words).texts("command", 1'000'000);
  } catch (const Error& error) {
    throw damaged_store(fmt::format("run {}: {}", id, error.what()));
  }
  header.id = std::move(id);
  header.suite = std::move(suite);
  header.suite_hash = std::move(suite_hash);
  header.backend = std::move(backend);
  header.stack = std::move(stack);
  header.shard = std::move(shard);
  header.started = brief.started;
  return header;
}

}  // namespace

std::int64_t RunTable::Entry::BriefHeader::checksum() const {
  ContentHash hash;
  for (const std::string& text : texts) {
    hash.add(std::string_view(text));
  }
  return hash.add(std::int64_t{started.time_since_epoch().count()}).stored();
}

RunTable::Entry::BriefHeader brief_header(const results::RunHeader& header,
                                          const std::string& resolved_hash) {
  return {{header.id,
           header.suite,
           header.suite_hash,
           resolved_hash,
           header.backend,
           header.stack,
           dump(header.environment.identity),
           dump(header.environment.facts),
           header.shard,
           dump(header.command)},
          header.started};
}

RunTable::Entry::BriefHeader read_brief(Statement& statement) {
  RunTable::Entry::BriefHeader brief;
  for (std::string& text : brief.texts) {
    text = statement.text();
  }
  brief.started = statement.time();
  return brief;
}

std::string facts_text(const results::Facts& facts) {
  return dump(facts);
}

results::Facts facts_from_text(const std::string& text) {
  const json value = {{"facts", results::parse_json(text)}};
  return results::JsonObject(value).facts("facts");
}

std::int64_t progress_checksum(const RunTable::Entry& entry) {
  return ContentHash()
      .add(entry.id_checksum)
      .add(entry.run.number)
      .add(entry.run.environment)
      .add(entry.next_position)
      .add(entry.rows_ok)
      .add(entry.rows_failed)
      .add(entry.reused_checksum)
      .add(to_text(entry.state))
      .add_flag(entry.finished.has_value())
      .add(entry.finished ? entry.finished->time_since_epoch().count() : std::int64_t{0})
      .stored();
}

RunTable::Entry read_progress(Statement& statement, const results::RunId& id) {
  RunTable::Entry entry;
  entry.id_checksum = ContentHash().bytes(id).stored();
  entry.run.number = statement.integer();
  entry.run.environment = statement.integer();
  entry.next_position = statement.integer();
  entry.rows_ok = statement.integer();
  entry.rows_failed = statement.integer();
  entry.reused_checksum = statement.integer();
  const std::string state = statement.text();
  const std::optional<results::RunState> known = results::parse_run_state(state);
  entry.finished = statement.optional_time();
  const std::optional<std::int64_t> checksum = statement.optional_integer();
  if (!known) {
    throw damaged_store(fmt::format("run {} has the unknown state '{}'", id, state));
  }
  entry.state = *known;
  if (checksum && *checksum != progress_checksum(entry)) {
    throw damaged_store(
        fmt::format("run {}: its state, end and counts do not match their checksum", id));
  }
  return entry;
}

std::string select_run_sql(bool suite) {
  return fmt::format(fmt::runtime(kSelectRecord), kProgressColumns, suite ? "s.resolved" : "''");
}

results::RunRecord read_run(Statement& statement, bool suite) {
  RunTable::Entry::BriefHeader brief = read_brief(statement);
  const results::RunId id = brief.texts.front();
  const std::optional<std::int64_t> guard = statement.optional_integer();
  if (guard && *guard != brief.checksum()) {
    throw damaged_store(fmt::format("run {}: its header does not match its checksum", id));
  }
  const RunTable::Entry entry = read_progress(statement, id);
  results::RunRecord record;
  record.header = header_of(std::move(brief));
  record.state = entry.state;
  record.finished = entry.finished;
  record.rows_ok = entry.rows_ok;
  record.rows_failed = entry.rows_failed;
  const std::int64_t checksum = statement.integer();
  record.rows_reused = statement.integer();
  record.header.resolved_suite = statement.text();
  if (suite && checksum != run_checksum(record.header)) {
    throw damaged_store(fmt::format("run {}: does not match its checksum", id));
  }
  return record;
}

std::int64_t run_checksum(const results::RunHeader& header) {
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
  for (const results::Facts* const facts :
       {&header.environment.identity, &header.environment.facts}) {
    hash.add(std::string_view(dump(*facts)));
  }
  hash.add(std::string_view(dump(header.command)));
  hash.add(std::int64_t{header.started.time_since_epoch().count()});
  return hash.stored();
}

std::int64_t reuse_checksum(results::RowId row) {
  return ContentHash().add(row).stored();
}

std::int64_t add_checksums(std::int64_t left, std::int64_t right) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(left) +
                                   static_cast<std::uint64_t>(right));
}

}  // namespace plumb::store
