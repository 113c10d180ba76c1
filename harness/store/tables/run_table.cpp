// SPDX-License-Identifier: Apache-2.0
#include "harness/store/tables/run_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/store/content_hash.hpp"
#include "harness/store/store_errors.hpp"

namespace plumb::store {
namespace {

std::int64_t tag_checksum(std::string_view tag, std::string_view run) {
  return ContentHash().add(tag).add(run).stored();
}

// The newest run that measured a suite. Imports, and the sides of pairs (of calibrations,
// qualifications and bisections), are taken only where the store has nothing else.
constexpr std::string_view kSelectLatest =
    "select r.id from runs r left join environments e on e.number = r.environment order by "
    "r.stack = 'external' or coalesce(e.identity like '%\"method\":\"% paired\"%', false), "
    "r.started desc, r.number desc limit 1";

}  // namespace

std::int64_t RunTable::environment_number(const results::Environment& environment) {
  const std::string id = environment.id();
  {
    const Connection::StatementCache::Use find =
        statements_.use("select number from environments where id = ?");
    find->bind(std::string_view(id));
    if (find->step()) {
      return find->integer();
    }
  }
  const std::string identity = facts_text(environment.identity);
  const Connection::StatementCache::Use insert = statements_.use(
      "insert into environments (number, id, identity) "
      "select coalesce(max(number), 0) + 1, ?, ? from environments returning number");
  insert->bind(std::string_view(id)).bind(std::string_view(identity));
  PLUMB_CHECK(insert->step());
  return insert->integer();
}

void RunTable::insert(const results::RunHeader& header) {
  PLUMB_CHECK(!header.id.empty());
  if (find(header.id)) {
    throw Error(Error::Kind::kInternal,
                fmt::format("run {} is in the store already; please report this bug", header.id));
  }
  const std::int64_t environment = environment_number(header.environment);
  const std::string resolved_hash = sha256(header.resolved_suite);
  {
    const Connection::StatementCache::Use suite =
        statements_.use("insert into suites (hash, resolved) values (?, ?) on conflict do nothing");
    suite->bind(std::string_view(resolved_hash)).bind(std::string_view(header.resolved_suite));
    suite->run();
  }
  const RunTable::Entry::BriefHeader brief = brief_header(header, resolved_hash);
  const auto& texts = brief.texts;
  {
    const Connection::StatementCache::Use statement = statements_.use(
        "insert into runs (number, id, suite, suite_hash, resolved_hash, backend, stack, facts, "
        "shard, command, environment, started, state, finished, next_position, rows_ok, "
        "rows_failed, checksum, brief_checksum) select coalesce(max(number), 0) + 1, ?, ?, ?, ?, "
        "?, ?, ?, ?, ?, ?, ?, 'running', null, 0, 0, 0, ?, ? from runs");
    for (const std::size_t column : {0U, 1U, 2U, 3U, 4U, 5U, 7U, 8U, 9U}) {
      statement->bind(std::string_view(texts.at(column)));
    }
    statement->bind(environment).bind(header.started).bind(run_checksum(header));
    statement->bind(brief.checksum()).run();
  }
  store(require(header.id));
}

std::optional<RunTable::Entry> RunTable::find(const results::RunId& run) {
  const Connection::StatementCache::Use statement = statements_.use(
      fmt::format("select {}, r.started from runs r where r.id = ?", kProgressColumns));
  statement->bind(std::string_view(run));
  if (!statement->step()) {
    return std::nullopt;
  }
  Entry entry = read_progress(*statement, run);
  entry.run.started = statement->time();
  return entry;
}

RunTable::Entry RunTable::require(const results::RunId& run) {
  const std::optional<Entry> entry = find(run);
  if (!entry) {
    throw Error(Error::Kind::kInternal,
                fmt::format("run '{}' is not in the store; please report this bug", run));
  }
  return *entry;
}

void RunTable::count_rows(Entry& entry, std::span<const results::Measurement> rows) {
  const auto ok = std::count_if(rows.begin(), rows.end(), [](const results::Measurement& row) {
    return row.outcome.timed();
  });
  const auto skipped = std::count_if(rows.begin(), rows.end(), [](const results::Measurement& row) {
    return row.outcome.kind == results::Outcome::Kind::kSkipped;
  });
  const auto total = static_cast<std::int64_t>(rows.size());
  entry.next_position += total;
  entry.rows_ok += ok;
  entry.rows_failed += total - ok - skipped;
  entry.state = results::RunState::kRunning;
  entry.finished.reset();
  store(entry);
}

void RunTable::store(const Entry& entry) {
  const Connection::StatementCache::Use statement = statements_.use(
      "update runs set next_position = ?, rows_ok = ?, rows_failed = ?, reused_checksum = ?, "
      "state = ?, finished = ?, progress_checksum = ? where number = ?");
  statement->bind(entry.next_position).bind(entry.rows_ok).bind(entry.rows_failed);
  statement->bind(entry.reused_checksum);
  statement->bind(to_text(entry.state)).bind(entry.finished).bind(progress_checksum(entry));
  statement->bind(entry.run.number).run();
}

void RunTable::guard_all() {
  std::vector<std::pair<results::RunId, std::int64_t>> briefs;
  {
    const Connection::StatementCache::Use runs = statements_.use(select_run_sql(false));
    while (runs->step()) {
      const RunTable::Entry::BriefHeader brief = read_brief(*runs);
      briefs.emplace_back(brief.texts.front(), brief.checksum());
    }
  }
  for (const auto& [run, checksum] : briefs) {
    const Connection::StatementCache::Use guard =
        statements_.use("update runs set brief_checksum = ? where id = ?");
    guard->bind(checksum).bind(std::string_view(run)).run();
    Entry entry = require(run);
    const Connection::StatementCache::Use reused =
        statements_.use("select measurement from reused_rows where run = ?");
    reused->bind(entry.run.number);
    entry.reused_checksum = 0;
    while (reused->step()) {
      entry.reused_checksum =
          add_checksums(entry.reused_checksum, reuse_checksum(reused->integer()));
    }
    store(entry);
  }
  std::vector<std::pair<std::string, results::RunId>> tags;
  {
    const Connection::StatementCache::Use tag =
        statements_.use("select t.tag, r.id from tags t join runs r on r.number = t.run");
    while (tag->step()) {
      tags.emplace_back(tag->text(), results::RunId());
      tags.back().second = tag->text();
    }
  }
  for (const auto& [tag, run] : tags) {
    const Connection::StatementCache::Use guard =
        statements_.use("update tags set checksum = ? where tag = ?");
    guard->bind(tag_checksum(tag, run)).bind(std::string_view(tag)).run();
  }
}

void RunTable::add_tags(std::span<results::RunRecord> records,
                        const std::optional<results::RunId>& only) {
  const Connection::StatementCache::Use tags = statements_.use(
      std::string("select r.id, t.tag, t.checksum from tags t join runs r on r.number = t.run ") +
      (only ? "where r.id = ? " : "") + "order by t.tag");
  if (only) {
    tags->bind(std::string_view(*only));
  }
  while (tags->step()) {
    const std::string run = tags->text();
    std::string tag = tags->text();
    const std::optional<std::int64_t> checksum = tags->optional_integer();
    if (checksum && *checksum != tag_checksum(tag, run)) {
      throw damaged_store(fmt::format("tag '{}' of run {}: does not match its checksum", tag, run));
    }
    const auto tagged =
        std::find_if(records.begin(), records.end(), [&](const results::RunRecord& record) {
          return record.header.id == run;
        });
    if (tagged != records.end()) {
      tagged->tags.push_back(std::move(tag));
    }
  }
}

std::vector<results::RunRecord> RunTable::records(Detail detail) {
  std::vector<results::RunRecord> result;
  {
    const Connection::StatementCache::Use statement = statements_.use(
        select_run_sql(detail == Detail::kFull) + "order by r.started desc, r.number desc");
    while (statement->step()) {
      result.push_back(read_run(*statement, detail == Detail::kFull));
    }
  }
  add_tags(result, std::nullopt);
  return result;
}

results::RunRecord RunTable::record(const results::RunId& run, Detail detail) {
  results::RunRecord result;
  {
    const Connection::StatementCache::Use statement =
        statements_.use(select_run_sql(detail == Detail::kFull) + "where r.id = ?");
    statement->bind(std::string_view(run));
    if (!statement->step()) {
      throw damaged_store(fmt::format("run {} lacks its environment or its suite", run));
    }
    result = read_run(*statement, detail == Detail::kFull);
  }
  add_tags({&result, 1}, run);
  return result;
}

results::RunId RunTable::resolve(const std::string& name) {
  if (name == "@latest") {
    const Connection::StatementCache::Use latest = statements_.use(std::string(kSelectLatest));
    if (latest->step()) {
      return latest->text();
    }
    throw Error(Error::Kind::kUser, "the store holds no run yet: make one with plumb run SUITE");
  }
  if (auto named = find_named(name)) {
    return *std::move(named);
  }
  std::vector<std::string> matches;
  const Connection::StatementCache::Use prefix = statements_.use(
      // Columns and an order that no index has: an index may be what is damaged.
      "select id, checksum from runs where substr(id, 1, ?) = ? order by id || '' limit 5");
  prefix->bind(static_cast<std::int64_t>(name.size())).bind(std::string_view(name));
  while (!name.empty() && prefix->step()) {
    matches.push_back(prefix->text());
  }
  if (matches.size() == 1) {
    return matches.front();
  }
  // A name that is not found may be one that was damaged.
  (void)records(Detail::kBrief);
  throw Error(Error::Kind::kUser,
              matches.empty()
                  ? fmt::format("there is no run or tag '{}': {}", name, what_there_is())
                  : fmt::format("'{}' is the beginning of several runs ({}): write more of the id",
                                name,
                                fmt::join(matches, ", ")));
}

std::optional<results::RunId> RunTable::find_named(const std::string& name) {
  for (const char* const sql : {"select id from runs where id = ?",
                                "select r.id from runs r join tags t on t.run = r.number "
                                "where t.tag = ?",
                                "select r.id from runs r join shared_runs s on s.run = r.number "
                                "where s.name = ?"}) {
    const Connection::StatementCache::Use statement = statements_.use(sql);
    statement->bind(std::string_view(name));
    if (statement->step()) {
      return statement->text();
    }
  }
  return std::nullopt;
}

std::string RunTable::what_there_is() {
  std::vector<std::string> names;
  for (const char* const sql : {"select id from runs order by started desc, number desc limit 8",
                                "select tag from tags order by tag limit 8"}) {
    const Connection::StatementCache::Use statement = statements_.use(sql);
    while (statement->step()) {
      names.push_back(statement->text());
    }
  }
  return names.empty() ? std::string("the store is empty")
                       : fmt::format("the newest runs and tags are {}", fmt::join(names, ", "));
}

bool RunTable::has_tag(const std::string& tag) {
  const Connection::StatementCache::Use statement =
      statements_.use("select run from tags where tag = ?");
  statement->bind(std::string_view(tag));
  return statement->step();
}

void require_tag_text(const std::string& tag) {
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
}

void RunTable::tag(const results::RunId& run, const std::string& tag) {
  require_tag_text(tag);
  if (find(tag)) {
    throw Error(Error::Kind::kUser, fmt::format("'{}' cannot be a tag: a run has this id", tag));
  }
  const Connection::StatementCache::Use statement = statements_.use(
      "insert into tags (tag, run, checksum) values (?, ?, ?) on conflict (tag) do update set run "
      "= excluded.run, checksum = excluded.checksum");
  statement->bind(std::string_view(tag)).bind(require(run).run.number);
  statement->bind(tag_checksum(tag, run)).run();
}

}  // namespace plumb::store
