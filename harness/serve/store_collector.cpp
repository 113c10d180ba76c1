// SPDX-License-Identifier: Apache-2.0
#include "harness/serve/store_collector.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <exception>

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

}  // namespace plumb::serve
