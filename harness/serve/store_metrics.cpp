// SPDX-License-Identifier: Apache-2.0
#include "harness/serve/store_metrics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <span>
#include <utility>

#include "harness/analysis/report/reports.hpp"
#include "harness/base/error.hpp"
#include "harness/session/stored/run_analysis.hpp"

namespace plumb::serve {
namespace {

/// Finds the newest run that is tagged as the baseline of its suite, or else as that of all suites.
/// The runs must be comparable.
const results::RunRecord* tagged_baseline(std::span<const results::RunRecord* const> newest_first) {
  for (const bool for_suite : {true, false}) {
    for (const results::RunRecord* run : newest_first) {
      if (run->has_tag(for_suite ? "baseline/" + run->header.suite : "baseline")) {
        return run;
      }
    }
  }
  return nullptr;
}

/// Makes the states of times inconclusive. What is broken stays so.
void withhold_states(std::vector<analysis::ModelRegression>& regressions) {
  for (analysis::ModelRegression& each : regressions) {
    if (each.state != analysis::ModelRegression::State::kBroken &&
        each.state != analysis::ModelRegression::State::kNoBaseline) {
      each.state = analysis::ModelRegression::State::kInconclusive;
    }
  }
}

analysis::ModelRegression::Run comparable(const reporting::RunMetrics& run) {
  return {run.models, run.deviation};
}

}  // namespace

void MetricsPublisher::History::Controls::read(const store::Store& store,
                                               std::span<const results::RunRecord> runs) {
  std::vector<results::RunRecord> unknown;
  std::map<results::RunId, std::vector<analysis::HostHealth::Reading>> kept;
  for (const results::RunRecord& run : runs) {
    if (run.state != results::RunState::kFinished) {
      continue;
    }
    const auto found = readings_.find(run.header.id);
    if (found == readings_.end()) {
      unknown.push_back(run);
    }
    kept[run.header.id] =
        found == readings_.end() ? std::vector<analysis::HostHealth::Reading>{} : found->second;
  }
  for (analysis::HostHealth::Reading& reading : session::read_host_readings(store, unknown)) {
    kept[reading.run].push_back(std::move(reading));
  }
  readings_ = std::move(kept);
  newest_first_.clear();
  for (const results::RunRecord& run : runs) {
    if (const auto found = readings_.find(run.header.id); found != readings_.end()) {
      newest_first_.insert(newest_first_.end(), found->second.begin(), found->second.end());
    }
  }
  classes_ = analysis::compute_class_controls(newest_first_);
}

std::string MetricsPublisher::History::Controls::drift(const results::RunId& run) const {
  for (const analysis::HostHealth::Reading& reading : readings_.at(run)) {
    if (std::string why = analysis::find_class_drift(reading, classes_); !why.empty()) {
      return why;
    }
  }
  return {};
}

std::vector<reporting::HostMetrics> MetricsPublisher::History::Controls::hosts(
    std::span<const results::RunRecord> runs) const {
  std::map<results::RunId, const results::RunRecord*> by_id;
  for (const results::RunRecord& run : runs) {
    by_id[run.header.id] = &run;
  }
  std::vector<reporting::HostMetrics> hosts;
  for (analysis::HostHealth& health : analysis::compute_host_health(newest_first_, classes_)) {
    const results::RunHeader& run = by_id.at(health.newest.run)->header;
    hosts.push_back(
        {std::move(health), reporting::device_name(run.environment), run.suite, run.stack});
  }
  return hosts;
}

std::shared_ptr<const reporting::RunMetrics> MetricsPublisher::History::analysed(
    const session::SessionContext::Archive& archive, const results::RunId& run) {
  const auto [place, added] = analysed_.try_emplace(run);
  Entry& entry = place->second;
  entry.used = true;
  if (!added) {
    return entry.metrics;
  }
  try {
    analysis::RunReport report;
    const results::RunRecord record = archive.store.find_run(run);
    try {
      report = session::analyze_run(archive, record, {});
      entry.readable = true;
    } catch (const std::exception& error) {
      spdlog::warn("run {} has row counts only: {}", run, error.what());
      report = {};
      report.run = record;
      report.rows = archive.store.measurements(run);
    }
    entry.metrics = std::make_shared<const reporting::RunMetrics>(
        reporting::run_metrics(std::move(report), slowest_layers_));
  } catch (...) {
    analysed_.erase(place);  // The store is at fault, not the run: try again the next time.
    throw;
  }
  return entry.metrics;
}

void MetricsPublisher::History::judge(const session::SessionContext::Archive& archive,
                                      std::span<const results::RunRecord* const> newest_first,
                                      reporting::SuiteMetrics& suite) {
  const results::RunRecord& newest = *newest_first.front();
  std::vector<const results::RunRecord*> alike;
  for (const results::RunRecord* run : newest_first) {
    const bool drifted = run != &newest && !controls_.drift(run->header.id).empty();
    if (!drifted && analysis::are_comparable(run->header.environment, newest.header.environment)) {
      alike.push_back(run);
    }
  }
  std::optional<analysis::ModelRegression::Run> baseline;
  std::shared_ptr<const reporting::RunMetrics> kept;
  if (const results::RunRecord* const tagged = tagged_baseline(alike); tagged != nullptr) {
    alike.erase(std::find(alike.begin(), alike.end(), tagged), alike.end());
    kept = analysed(archive, tagged->header.id);
    baseline = comparable(*kept);
  }
  if (alike.empty()) {
    return;  // The newest run is the baseline: there is nothing to judge it by.
  }
  // After a baseline, the newest two runs confirm a regression (find_regressions()).
  alike.resize(std::min(alike.size(), baseline ? std::size_t{2} : kRunsLookedAt));
  std::vector<std::shared_ptr<const reporting::RunMetrics>> runs;
  std::vector<analysis::ModelRegression::Run> compared;
  for (const results::RunRecord* run : alike) {
    runs.push_back(analysed(archive, run->header.id));
    compared.push_back(comparable(*runs.back()));
  }
  suite.regressions = analysis::find_regressions(compared, baseline);
  if (!suite.drift.empty()) {
    withhold_states(suite.regressions);
  }
  std::erase_if(suite.regressions, [&](const analysis::ModelRegression& each) {
    const std::string subject = analysis::subject_of(each.instance);
    return results::find_exclusion(suite.newest->exclusions,
                                   {subject, subject + " " + each.mode}) != nullptr;
  });
}

std::vector<reporting::SuiteMetrics> MetricsPublisher::History::suites(
    const session::SessionContext::Archive& archive, std::span<const results::RunRecord> runs) {
  for (auto& [run, entry] : analysed_) {
    entry.used = false;
  }
  controls_.read(archive.store, runs);
  hosts_ = controls_.hosts(runs);
  std::map<analysis::RunSeries, std::vector<const results::RunRecord*>> series;
  for (const results::RunRecord& run : runs) {
    if (analysis::is_point_of_history(run.header)) {
      series[analysis::run_series_of(run.header)].push_back(&run);
    }
  }
  std::vector<reporting::SuiteMetrics> suites;
  suites.reserve(series.size());
  for (auto& [name, newest_first] : series) {
    reporting::SuiteMetrics& suite = suites.emplace_back();
    suite.series = name;
    suite.device = reporting::device_name(newest_first.front()->header.environment);
    if (newest_first.front()->state != results::RunState::kFinished) {
      suite.unfinished = newest_first.front()->header.started;
    }
    std::erase_if(newest_first, [](const results::RunRecord* run) {
      return run->state != results::RunState::kFinished;
    });
    if (newest_first.empty()) {
      continue;
    }
    suite.newest = analysed(archive, newest_first.front()->header.id);
    suite.drift = controls_.drift(newest_first.front()->header.id);
    if (newest_first.size() > 1) {
      suite.environment_changed = !analysis::environment_drift(newest_first[1]->header.environment,
                                                               newest_first[0]->header.environment)
                                       .empty();
    }
    judge(archive, newest_first, suite);
  }
  std::erase_if(analysed_, [](const auto& entry) { return !entry.second.used; });
  return suites;
}

std::size_t MetricsPublisher::History::unreadable() const {
  return static_cast<std::size_t>(
      std::count_if(analysed_.begin(), analysed_.end(), [](const auto& entry) {
        return !entry.second.readable;
      }));
}

reporting::Dashboard make_dashboard(const session::SessionContext::Archive& archive,
                                    Timestamp now,
                                    std::optional<Seconds> max_age) {
  std::vector<results::RunRecord> newest_first = archive.store.runs();
  std::erase_if(newest_first, [&](const results::RunRecord& run) {
    return max_age && Seconds(now - run.header.started) > *max_age;
  });
  reporting::Dashboard dashboard;
  dashboard.now = now;
  MetricsPublisher::History history(0);
  const std::span<const results::RunRecord> runs(newest_first);
  for (std::size_t i = runs.size(); i-- > 0;) {
    if (runs[i].state != results::RunState::kFinished) {
      continue;
    }
    // This run and older ones: it is judged by what was known when it finished.
    std::vector<reporting::SuiteMetrics> suites = history.suites(archive, runs.subspan(i));
    const auto own =
        std::find_if(suites.begin(), suites.end(), [&](const reporting::SuiteMetrics& suite) {
          return suite.newest && suite.newest->run.header.id == runs[i].header.id;
        });
    if (own != suites.end()) {
      dashboard.points.push_back(*own);
    }
    dashboard.present = std::move(suites);
  }
  return dashboard;
}

namespace {

constexpr std::chrono::seconds kPatience{5};

std::string compute_fingerprint(std::span<const results::RunRecord> runs) {
  std::string text;
  for (const results::RunRecord& run : runs) {
    text += fmt::format("{} {} {}\n", run.header.id, to_text(run.state), fmt::join(run.tags, " "));
  }
  return text;
}

}  // namespace

void MetricsPublisher::Collector::connect() {
  const std::optional<std::string> identity = store::store_identity(settings_.store_url);
  if (!identity) {
    store_.reset();
    throw Error(Error::Kind::kEnvironment,
                fmt::format("there is no store at '{}': name one with --store, or wait for the "
                            "first run",
                            settings_.store_url));
  }
  if (!store_ || *identity != identity_) {
    // A reader must not migrate: the version that writes decides when.
    store_ = store::open_store(settings_.store_url,
                               {.migrate = false, .read_only = true, .patience = kPatience});
    identity_ = *identity;
    revision_.reset();
  }
}

bool MetricsPublisher::Collector::read(Timestamp now) {
  const std::int64_t revision = store_->revision();
  if (revision_ == revision && (!next_to_age_ || now <= *next_to_age_)) {
    return false;
  }
  std::vector<results::RunRecord> runs = store_->runs();
  runs_ = std::make_shared<const std::vector<results::RunRecord>>(runs);
  if (settings_.max_age) {
    const auto age = std::chrono::duration_cast<std::chrono::microseconds>(*settings_.max_age);
    std::erase_if(runs,
                  [&](const results::RunRecord& run) { return run.header.started + age < now; });
    next_to_age_.reset();
    if (!runs.empty()) {
      next_to_age_ = runs.back().header.started + age;
    }
  }
  std::string fingerprint = compute_fingerprint(runs);
  const bool changed = !last_success_ || fingerprint != fingerprint_;
  if (changed) {
    suites_ = std::make_shared<const std::vector<reporting::SuiteMetrics>>(
        history_.suites({*store_, models_}, runs));
    hosts_ = std::make_shared<const std::vector<reporting::HostMetrics>>(history_.hosts());
    fingerprint_ = std::move(fingerprint);
  }
  revision_ = revision;
  return changed;
}

bool MetricsPublisher::Collector::refresh(Timestamp now) {
  try {
    connect();
    const bool changed = read(now);
    last_success_ = now;
    problem_.clear();
    return changed;
  } catch (const std::exception& error) {
    problem_ = error.what();
    store_.reset();
    return false;
  }
}

reporting::StoreHealth MetricsPublisher::Collector::health() const {
  reporting::StoreHealth health;
  health.up = problem_.empty();
  health.last_success = last_success_;
  health.runs = runs_->size();
  health.unreadable_runs = history_.unreadable();
  health.version = settings_.version;
  return health;
}

std::vector<prometheus::MetricFamily> MetricsPublisher::Collector::Collect() const {
  std::vector<prometheus::MetricFamily> families = reporting::health_families(health());
  reporting::metric_families(
      *suites_, [&](prometheus::MetricFamily&& family) { families.push_back(std::move(family)); });
  for (prometheus::MetricFamily& family : reporting::host_families(*hosts_)) {
    families.push_back(std::move(family));
  }
  return families;
}

namespace {

std::shared_ptr<const ExpositionWriter::Part> written(
    std::span<const reporting::SuiteMetrics> suites,
    std::span<const reporting::HostMetrics> hosts) {
  ExpositionWriter writer;
  reporting::metric_families(
      suites, [&](prometheus::MetricFamily&& family) { writer.add(std::move(family)); });
  for (prometheus::MetricFamily& family : reporting::host_families(hosts)) {
    writer.add(std::move(family));
  }
  return writer.finish(true);
}

}  // namespace

MetricsPublisher::MetricsPublisher(MetricsPublisher::Settings settings,
                                   const session::ModelSource& models,
                                   std::chrono::milliseconds interval)
    : collector_(std::move(settings), models), interval_(interval), results_(written({}, {})) {
  publish();
  thread_ = std::thread([this] { work(); });
}

MetricsPublisher::~MetricsPublisher() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::shared_ptr<const MetricsPublisher::Snapshot> MetricsPublisher::snapshot() const {
  const std::lock_guard lock(mutex_);
  return snapshot_;
}

void MetricsPublisher::wait_for_first(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, most, [this] { return looked_; });
}

void MetricsPublisher::publish() {
  reporting::StoreHealth health = collector_.health();
  health.rebuild = rebuild_;
  health.series = results_->series;
  ExpositionWriter writer;
  for (prometheus::MetricFamily& family : reporting::health_families(health)) {
    writer.add(std::move(family));
  }
  auto snapshot = std::make_shared<const MetricsPublisher::Snapshot>(
      MetricsPublisher::Snapshot{.up = health.up,
                                 .health = writer.finish(false),
                                 .results = results_,
                                 .suites = collector_.suites(),
                                 .hosts = collector_.hosts(),
                                 .runs = collector_.runs()});
  const std::lock_guard lock(mutex_);
  snapshot_ = std::move(snapshot);
}

void MetricsPublisher::work() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    const auto start = std::chrono::steady_clock::now();
    if (collector_.refresh(current_time())) {
      results_ = written(*collector_.suites(), *collector_.hosts());
      rebuild_ = std::chrono::steady_clock::now() - start;
      malloc_trim(0);  // Analysing took many times what is kept.
    }
    if (collector_.problem() != told_) {
      told_ = collector_.problem();
      if (told_.empty()) {
        spdlog::info("the store can be read again");
      } else {
        spdlog::warn("the last metrics are still served: {}", told_);
      }
    }
    publish();
    lock.lock();
    looked_ = true;
    wake_.notify_all();
    wake_.wait_for(lock, interval_, [this] { return stop_; });
  }
}

}  // namespace plumb::serve
