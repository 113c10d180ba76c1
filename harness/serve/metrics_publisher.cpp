// SPDX-License-Identifier: Apache-2.0
#include "harness/serve/metrics_publisher.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <exception>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::serve {
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

void StoreCollector::connect() {
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

bool StoreCollector::read(Timestamp now) {
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

bool StoreCollector::refresh(Timestamp now) {
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

reporting::StoreHealth StoreCollector::health() const {
  reporting::StoreHealth health;
  health.up = problem_.empty();
  health.last_success = last_success_;
  health.runs = runs_->size();
  health.unreadable_runs = history_.unreadable();
  health.version = settings_.version;
  return health;
}

std::vector<prometheus::MetricFamily> StoreCollector::Collect() const {
  std::vector<prometheus::MetricFamily> families = reporting::health_families(health());
  reporting::metric_families(
      *suites_, [&](prometheus::MetricFamily&& family) { families.push_back(std::move(family)); });
  for (prometheus::MetricFamily& family : reporting::host_families(*hosts_)) {
    families.push_back(std::move(family));
  }
  return families;
}

namespace {

std::shared_ptr<const ExpositionPart> written(std::span<const reporting::SuiteMetrics> suites,
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

MetricsPublisher::MetricsPublisher(CollectorSettings settings,
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

std::shared_ptr<const MetricsSnapshot> MetricsPublisher::snapshot() const {
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
  auto snapshot =
      std::make_shared<const MetricsSnapshot>(MetricsSnapshot{.up = health.up,
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
