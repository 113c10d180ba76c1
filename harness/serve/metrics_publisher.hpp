// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "harness/serve/exposition.hpp"
#include "harness/serve/store_collector.hpp"

namespace plumb::serve {

/// Data that scrapes and pages are answered with. Immutable.
struct MetricsSnapshot {
  bool up = false;                                ///< the store could be read
  std::shared_ptr<const ExpositionPart> health;   ///< of the store and this program
  std::shared_ptr<const ExpositionPart> results;  ///< of models and runs
  std::shared_ptr<const std::vector<reporting::SuiteMetrics>> suites;
  std::shared_ptr<const std::vector<reporting::HostMetrics>> hosts;
  std::shared_ptr<const std::vector<results::RunRecord>> runs;  ///< newest first
};

/// Publisher of a store's newest metrics, which it reads in a thread of its own. Text and gzip of
/// the results are made again only when the runs changed. What is said of the store itself is made
/// again every time.
class MetricsPublisher {
 public:
  /// Starts to look at the store, now and then every `interval`. Keeps a reference to the models.
  MetricsPublisher(CollectorSettings settings,
                   const session::ModelSource& models,
                   std::chrono::milliseconds interval);
  MetricsPublisher(const MetricsPublisher&) = delete;
  MetricsPublisher& operator=(const MetricsPublisher&) = delete;
  MetricsPublisher(MetricsPublisher&&) = delete;
  MetricsPublisher& operator=(MetricsPublisher&&) = delete;
  /// Ends after the reading in progress.
  ~MetricsPublisher();

  /// Returns the newest metrics, at once. From any thread.
  [[nodiscard]] std::shared_ptr<const MetricsSnapshot> snapshot() const;
  /// Waits until the store has been looked at once, but not for longer than `most`.
  void wait_for_first(std::chrono::milliseconds most);

 private:
  void work();
  void publish();

  StoreCollector collector_;
  std::chrono::milliseconds interval_;
  std::shared_ptr<const ExpositionPart> results_;
  std::optional<Seconds> rebuild_;
  std::string told_;  ///< the problem that was logged last

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  bool looked_ = false;
  std::shared_ptr<const MetricsSnapshot> snapshot_;
  std::thread thread_;
};

}  // namespace plumb::serve
