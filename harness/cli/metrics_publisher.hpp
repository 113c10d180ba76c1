// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "harness/cli/exposition.hpp"
#include "harness/cli/store_collector.hpp"

namespace plumb {

/// The data that scrapes and pages are answered with. Immutable.
struct MetricsSnapshot {
  bool up = false;                                ///< the store could be read
  std::shared_ptr<const ExpositionPart> health;   ///< of the store and this program
  std::shared_ptr<const ExpositionPart> results;  ///< of models and runs
  std::shared_ptr<const std::vector<SuiteMetrics>> suites;
  std::shared_ptr<const std::vector<RunRecord>> runs;  ///< newest first
};

/// Reads a store in a thread of its own and keeps the newest metrics ready to be sent. Text and
/// gzip are made again only when the runs changed; what is said of the store itself, every time.
class MetricsPublisher {
 public:
  /// Looks at the store now and then every `interval`.
  MetricsPublisher(CollectorSettings settings, std::chrono::milliseconds interval);
  MetricsPublisher(const MetricsPublisher&) = delete;
  MetricsPublisher& operator=(const MetricsPublisher&) = delete;
  MetricsPublisher(MetricsPublisher&&) = delete;
  MetricsPublisher& operator=(MetricsPublisher&&) = delete;
  /// Waits for a reading in progress.
  ~MetricsPublisher();

  /// Returns the newest metrics; from any thread, at once.
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

}  // namespace plumb
