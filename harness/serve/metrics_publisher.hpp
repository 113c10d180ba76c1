// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/collectable.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "harness/serve/exposition.hpp"
#include "harness/serve/run_history.hpp"

namespace plumb::serve {

/// Settings of a collector.
struct CollectorSettings {
  std::string store_url;
  std::size_t slowest_layers = 10;  ///< of each model
  std::string version;              ///< of this program
  std::optional<Seconds> max_age;   ///< runs that started longer ago are left out
};

/// Collector of the metrics of a store that others write to. When the store cannot be read, what
/// was read last stays. For one thread.
class StoreCollector final : public prometheus::Collectable {
 public:
  /// Keeps a reference to the models.
  StoreCollector(CollectorSettings settings, const session::ModelSource& models)
      : settings_(std::move(settings)), models_(models) {}

  /// Reads what changed since the last call, and returns whether the runs' metrics may have
  /// changed. A store that is gone, locked or damaged is no error here: see health() and problem().
  /// `now` ages runs.
  bool refresh(Timestamp now);

  [[nodiscard]] const std::shared_ptr<const std::vector<reporting::SuiteMetrics>>& suites() const {
    return suites_;
  }
  [[nodiscard]] const std::shared_ptr<const std::vector<reporting::HostMetrics>>& hosts() const {
    return hosts_;
  }
  /// Returns all runs, newest first, as Store::runs() gives them.
  [[nodiscard]] const std::shared_ptr<const std::vector<results::RunRecord>>& runs() const {
    return runs_;
  }
  /// Returns the state of the store. `series` and `rebuild` are left to whoever serves the metrics.
  [[nodiscard]] reporting::StoreHealth health() const;
  /// Returns why the store cannot be read; empty if it can.
  [[nodiscard]] const std::string& problem() const { return problem_; }

  /// Returns all metrics as they are after the last refresh().
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  void connect();
  bool read(Timestamp now);

  CollectorSettings settings_;
  const session::ModelSource& models_;
  RunHistory history_{settings_.slowest_layers};
  std::unique_ptr<store::Store> store_;
  std::string identity_;
  std::optional<std::int64_t> revision_;
  std::optional<Timestamp> next_to_age_;  ///< when the oldest run that is kept is too old
  std::string fingerprint_;               ///< of the runs that suites_ was made of
  std::shared_ptr<const std::vector<reporting::SuiteMetrics>> suites_ =
      std::make_shared<const std::vector<reporting::SuiteMetrics>>();
  std::shared_ptr<const std::vector<reporting::HostMetrics>> hosts_ =
      std::make_shared<const std::vector<reporting::HostMetrics>>();
  std::shared_ptr<const std::vector<results::RunRecord>> runs_ =
      std::make_shared<const std::vector<results::RunRecord>>();
  std::optional<Timestamp> last_success_;
  std::string problem_ = "the store has not been read yet";
};

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
