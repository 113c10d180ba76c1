// SPDX-License-Identifier: Apache-2.0
#include "harness/store/spool/spooled_store.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "harness/base/error.hpp"
#include "harness/store/content_hash.hpp"
#include "harness/store/tables/measurement_table.hpp"

namespace plumb::store {
namespace {

constexpr std::chrono::seconds kFirstPause{2};
constexpr std::chrono::seconds kLongestPause{60};

}  // namespace

SpooledStore::SpooledStore(std::string url, std::filesystem::path folder, Opener open)
    : url_(std::move(url)), folder_(std::move(folder)), open_(std::move(open)) {
  server_ = open_();
  for (const Store::SpooledRun& run : sync_spools_of(folder_, url_, *server_)) {
    if (!run.problem.empty()) {
      spdlog::warn("results of run {} wait in '{}': {}", run.run, run.file.string(), run.problem);
    } else if (run.sent_rows > 0) {
      spdlog::info(
          "{} rows of run {} that waited for the server are stored", run.sent_rows, run.run);
    }
  }
}

SpooledStore::~SpooledStore() {
  const bool waits = std::any_of(
      runs_.begin(), runs_.end(), [](const auto& run) { return run.second.spool != nullptr; });
  if (!waits) {
    return;
  }
  try {
    next_try_ = {};
    (void)server();
  } catch (const std::exception& error) {
    spdlog::warn("{}", error.what());
  }
  for (const auto& [id, run] : runs_) {
    if (run.spool) {
      spdlog::warn("{} rows of run {} wait in '{}': plumb store sync stores them",
                   run.spool->waiting_rows(),
                   id,
                   run.spool->path().string());
    }
  }
}

void SpooledStore::lose(const Store::ServerAway& away) const {
  server_.reset();
  reason_ = away.what();
  pause_ = kFirstPause;
  next_try_ = std::chrono::steady_clock::now() + pause_;
  spdlog::warn("{}; what is measured meanwhile is kept in '{}'", reason_, folder_.string());
}

void SpooledStore::connect() const {
  auto server = open_();
  for (auto& [id, run] : runs_) {
    if (!run.open && !run.spool) {
      continue;
    }
    if (!server->retake(id, run.place.fence)) {
      throw Store::ServerAway(fmt::format(
          "the server of '{}' still holds run {} for the connection that was lost", url_, id));
    }
    if (run.spool) {
      const std::size_t rows = replay(*run.spool, *server);
      spdlog::info("the server is back: {} rows of run {} that waited are stored", rows, id);
      run.spool->remove();
      run.spool.reset();
    }
    if (!run.open) {
      server->release(id);
    }
  }
  server_ = std::move(server);
}

TableStore& SpooledStore::server() const {
  if (!server_) {
    if (std::chrono::steady_clock::now() < next_try_) {
      throw Store::ServerAway(reason_);
    }
    try {
      connect();
    } catch (const Store::ServerAway& away) {
      reason_ = away.what();
      pause_ = std::min<std::chrono::steady_clock::duration>(2 * pause_, kLongestPause);
      next_try_ = std::chrono::steady_clock::now() + pause_;
      throw;
    }
  }
  return *server_;
}

template <typename Ask, typename Recall>
auto SpooledStore::answer(Ask&& ask, Recall&& recall) const
    -> decltype(ask(std::declval<TableStore&>())) {
  try {
    return ask(server());
  } catch (const Store::ServerAway& away) {
    if (server_) {
      lose(away);
    }
    if (auto recalled = recall()) {
      return *std::move(recalled);
    }
    throw;
  }
}

template <typename Ask>
auto SpooledStore::answer(Ask&& ask) const {
  using Answer = decltype(ask(std::declval<TableStore&>()));
  return answer(std::forward<Ask>(ask), [] { return std::optional<Answer>(); });
}

template <typename Send>
void SpooledStore::write(Run& run,
                         const std::vector<SpooledStore::File::Write>& kept,
                         Send&& send) {
  try {
    send(server());
    return;
  } catch (const Store::ServerAway& away) {
    // It may have been committed: whoever sends it again finds out.
    if (server_) {
      lose(away);
    }
  }
  if (!run.spool) {
    run.spool = std::make_unique<SpooledStore::File>(
        folder_,
        SpooledStore::File::Header{url_, run.record.header.id, run.place.fence, run.place.shared});
  }
  run.spool->add(kept);
}

SpooledStore::Run& SpooledStore::taken(const results::RunId& run) {
  const auto found = runs_.find(run);
  if (found == runs_.end() || !found->second.open) {
    throw Error(
        Error::Kind::kInternal,
        fmt::format("run {} was not taken before it was written to; please report this bug", run));
  }
  return found->second;
}

const SpooledStore::Run* SpooledStore::known(const results::RunId& run) const {
  const auto found = runs_.find(run);
  return found == runs_.end() ? nullptr : &found->second;
}

void SpooledStore::remember(const results::RunId& run) {
  Run& kept = runs_[run];
  kept.place = server().place(run);
  kept.record = server().find_run(run);
  kept.rows = server().measurements(run);
  kept.records = server().derived_of(run);
  kept.profiles = server().profiles(run);
  kept.open = true;
}

void SpooledStore::begin_run(const results::RunHeader& header) {
  server().begin_run(header);
  remember(header.id);
}

bool SpooledStore::take_run(const results::RunId& run) {
  if (!server().take_run(run)) {
    return false;
  }
  remember(run);
  return true;
}

std::vector<results::RowId> SpooledStore::append(const results::RunId& run,
                                                 std::span<const results::Measurement> rows) {
  Run& of = taken(run);
  SpooledStore::File::Rows kept{of.place.next_position, {}};
  for (const results::Measurement& row : rows) {
    kept.rows.push_back(repaired(row).value_or(row));
  }
  write(of, {kept}, [&](TableStore& server) { server.append_at(run, kept.position, kept.rows); });
  // The ids of a shared run's rows are not known without the server. Nobody needs them here.
  std::vector<results::RowId> ids;
  for (results::Measurement& row : kept.rows) {
    ids.push_back(row_id_of(of.place.run_number, of.place.next_position++));
    of.record.rows_ok += row.outcome.timed() ? 1 : 0;
    of.record.rows_failed +=
        row.outcome.timed() || row.outcome.kind == results::Outcome::Kind::kSkipped ? 0 : 1;
    of.rows.push_back({ids.back(), run, false, std::move(row)});
  }
  return ids;
}

void SpooledStore::link_reused(const results::RunId& run, std::span<const results::RowId> rows) {
  Run& of = taken(run);
  // Rows of other runs are known to the server alone, so this is no write that can wait.
  server().link_reused(run, rows);
  of.rows = server().measurements(run);
}

void SpooledStore::finish_run(const results::RunId& run,
                              results::RunState state,
                              Timestamp finished) {
  Run& of = taken(run);
  write(of, {SpooledStore::File::End{state, finished}}, [&](TableStore& server) {
    server.finish_run(run, state, finished);
  });
  of.record.state = state;
  of.record.finished = finished;
  of.open = state == results::RunState::kRunning;
}

void SpooledStore::put_derived(std::span<const results::DerivedRecord> records) {
  while (!records.empty()) {
    const results::RunId& run = records.front().run;
    const auto other = std::find_if(
        records.begin(), records.end(), [&](const auto& record) { return record.run != run; });
    const auto of_run = records.first(static_cast<std::size_t>(other - records.begin()));
    records = records.subspan(of_run.size());
    const auto found = runs_.find(run);
    if (found == runs_.end()) {
      answer([&](TableStore& server) {
        server.put_derived(of_run);
        return true;
      });
      continue;
    }
    const std::vector<SpooledStore::File::Write> kept(of_run.begin(), of_run.end());
    write(found->second, kept, [&](TableStore& server) { server.put_derived(of_run); });
    for (const results::DerivedRecord& record : of_run) {
      found->second.records.push_back(record);
      if (record.kind == results::kCalibrationRecord) {
        calibrations_[found->second.record.header.environment.id()] = record;
      }
    }
  }
}

std::vector<results::RunRecord> SpooledStore::runs() const {
  return answer([](TableStore& server) { return server.runs(); });
}

results::RunRecord SpooledStore::find_run(const std::string& name) const {
  return answer([&](TableStore& server) { return server.find_run(name); },
                [&] {
                  const Run* const run = known(name);
                  return run == nullptr ? std::nullopt : std::optional(run->record);
                });
}

std::vector<results::StoredMeasurement> SpooledStore::measurements(
    const results::RunId& run) const {
  return answer([&](TableStore& server) { return server.measurements(run); },
                [&] {
                  const Run* const of = known(run);
                  return of == nullptr ? std::nullopt : std::optional(of->rows);
                });
}

std::vector<results::StoredMeasurement> SpooledStore::reusable(
    const std::string& environment_id,
    std::span<const model::LayerKey> keys,
    results::CacheMode cache,
    std::optional<Timestamp> not_before) const {
  return answer(
      [&](TableStore& server) { return server.reusable(environment_id, keys, cache, not_before); });
}

std::vector<Store::SeriesQuery::Point> SpooledStore::series(const Store::SeriesQuery& query) const {
  return answer([&](TableStore& server) { return server.series(query); });
}

std::vector<results::DerivedRecord> SpooledStore::derived(const results::RunId& run,
                                                          const std::string& kind) const {
  return answer([&](TableStore& server) { return server.derived(run, kind); },
                [&]() -> std::optional<std::vector<results::DerivedRecord>> {
                  const Run* const of = known(run);
                  if (of == nullptr) {
                    return std::nullopt;
                  }
                  std::vector<results::DerivedRecord> records = of->records;
                  std::erase_if(records, [&](const results::DerivedRecord& record) {
                    return record.kind != kind;
                  });
                  return records;
                });
}

std::vector<results::DerivedRecord> SpooledStore::derived_of_runs(
    std::span<const results::RunId> runs, const std::string& kind) const {
  return answer([&](TableStore& server) { return server.derived_of_runs(runs, kind); });
}

std::optional<results::DerivedRecord> SpooledStore::latest_calibration(
    const std::string& environment_id) const {
  return answer(
      [&](TableStore& server) {
        return calibrations_[environment_id] = server.latest_calibration(environment_id);
      },
      [&] {
        std::optional<std::optional<results::DerivedRecord>> recalled;
        if (const auto found = calibrations_.find(environment_id); found != calibrations_.end()) {
          recalled.emplace(found->second);
        }
        return recalled;
      });
}

void SpooledStore::put_profile(const results::StoredProfile& profile) {
  Run& of = taken(profile.run);
  // What waits is equal to what may have been committed already.
  results::StoredProfile kept = storable(profile);
  write(of, {kept}, [&](TableStore& server) { server.put_profile(kept); });
  of.profiles.push_back(std::move(kept));
}

std::vector<results::StoredProfile> SpooledStore::profiles(const results::RunId& run) const {
  return answer([&](TableStore& server) { return server.profiles(run); },
                [&] {
                  const Run* const of = known(run);
                  return of == nullptr ? std::nullopt : std::optional(of->profiles);
                });
}

void SpooledStore::tag(const results::RunId& run, const std::string& tag) {
  answer([&](TableStore& server) {
    server.tag(run, tag);
    return true;
  });
}

int SpooledStore::schema_version() const {
  return answer([](TableStore& server) { return server.schema_version(); });
}

std::int64_t SpooledStore::revision() const {
  return answer([](TableStore& server) { return server.revision(); });
}

Bytes SpooledStore::size() const {
  return answer([](TableStore& server) { return server.size(); });
}

std::size_t SpooledStore::waiting_rows() const {
  std::size_t rows = 0;
  for (const auto& [id, run] : runs_) {
    rows += run.spool ? run.spool->waiting_rows() : 0;
  }
  return rows;
}

std::vector<std::string> SpooledStore::verify() const {
  return answer([](TableStore& server) { return server.verify(); });
}

void SpooledStore::export_to(std::ostream& out, std::span<const results::RunId> runs) const {
  answer([&](TableStore& server) {
    server.export_to(out, runs);
    return true;
  });
}

std::size_t SpooledStore::import_from(std::istream& in) {
  return answer([&](TableStore& server) { return server.import_from(in); });
}

Store::Garbage SpooledStore::collect_garbage(Timestamp before,
                                             std::optional<Timestamp> profiles_before) {
  return answer(
      [&](TableStore& server) { return server.collect_garbage(before, profiles_before); });
}

// The work of shared runs in a SpooledStore. Without its server there is none.

template <typename Ask>
auto SpooledStore::ask_work(Ask&& ask) const {
  try {
    return ask(server());
  } catch (const Store::ServerAway& away) {
    if (server_) {
      lose(away);
    }
    throw;
  }
}

results::RunId SpooledStore::begin_or_find(const std::string& name,
                                           const results::RunHeader& header,
                                           const std::string& first) {
  return ask_work([&](TableStore& server) { return server.begin_or_find(name, header, first); });
}

std::optional<std::int64_t> SpooledStore::join(const results::RunId& run,
                                               const std::string& host,
                                               std::chrono::milliseconds lease) {
  const auto member = ask_work([&](TableStore& server) { return server.join(run, host, lease); });
  if (member) {
    remember(run);
  }
  return member;
}

void SpooledStore::renew(const results::RunId& run,
                         std::int64_t member,
                         std::chrono::milliseconds lease) {
  ask_work([&](TableStore& server) { server.renew(run, member, lease); });
}

void SpooledStore::offer(const results::RunId& run, int stage, std::span<const std::string> items) {
  ask_work([&](TableStore& server) { server.offer(run, stage, items); });
}

std::optional<SharedWork::Claim> SpooledStore::claim(const results::RunId& run, int stage) {
  return ask_work([&](TableStore& server) { return server.claim(run, stage); });
}

std::vector<SharedWork::Claim> SpooledStore::claims(const results::RunId& run, int stage) {
  return ask_work([&](TableStore& server) { return server.claims(run, stage); });
}

void SpooledStore::note(const results::RunId& run,
                        std::span<const std::string> items,
                        SharedWork::Progress progress) {
  ask_work([&](TableStore& server) { server.note(run, items, progress); });
}

std::map<int, SharedWork::Count> SpooledStore::count(const results::RunId& run) const {
  return ask_work([&](TableStore& server) { return server.count(run); });
}

}  // namespace plumb::store
