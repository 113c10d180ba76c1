// SPDX-License-Identifier: Apache-2.0
#include "harness/serve/metrics_publisher.hpp"

#include <malloc.h>
#include <spdlog/spdlog.h>

#include <utility>

namespace plumb::serve {
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
