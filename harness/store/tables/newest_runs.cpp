// SPDX-License-Identifier: Apache-2.0
#include "harness/store/tables/newest_runs.hpp"

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

void NewestRuns::note(const Run& run, std::int64_t key, const results::Measurement& row) {
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
  const StatementUse statement = statements_.use(kNote);
  statement->bind(key).bind(to_text(row.cache)).bind(run.environment);
  if (timed) {
    statement->bind(run.number).bind(run.started);
  } else {
    statement->bind_null().bind_null();
  }
  statement->bind(run.number).bind(run.started);
  statement->run();
}

std::optional<std::int64_t> NewestRuns::settled_run(const std::string& key,
                                                    results::CacheMode cache,
                                                    const std::string& environment) {
  const StatementUse statement = statements_.use(
      "select n.settled_run from newest_runs n join layer_keys k on k.id = n.layer_key "
      "join environments e on e.number = n.environment "
      "where k.text = ? and n.cache = ? and e.id = ?");
  statement->bind(std::string_view(key)).bind(to_text(cache)).bind(std::string_view(environment));
  return statement->step() ? statement->optional_integer() : std::nullopt;
}

}  // namespace plumb::store
