// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/collectable.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "harness/serve/http_server.hpp"
#include "harness/session/stored/stored_records.hpp"
#include "harness/session/work/session_context.hpp"
#include "reporting/content/store/store_pages.hpp"
#include "reporting/prometheus/metric_families.hpp"

namespace plumb::serve {

/// Makes a dashboard of the runs that started within `max_age` before `now`; absent: of all runs.
/// Each is analysed once. Throws what the store throws.
[[nodiscard]] reporting::Dashboard make_dashboard(const session::SessionContext::Archive& archive,
                                                  Timestamp now,
                                                  std::optional<Seconds> max_age);

/// Publisher of a store's newest metrics, which it reads in a thread of its own. Text and gzip of
/// the results are made again only when the runs changed. What is said of the store itself is made
/// again every time.
class MetricsPublisher {
 public:
  /// History of a store's runs, as the present state of each series. A finished run never changes,
  /// so each is analysed once and remembered while it is needed. For one thread.
  class History {
   public:
    /// History of the controls that a store's runs measured. Each run is read once, too. For one
    /// thread.
    class Controls {
     public:
      /// Takes the controls of these runs, which are newest first. Those that are not finished are
      /// left out. Throws what the store throws.
      void read(const store::Store& store, std::span<const results::RunRecord> runs);

      /// Returns why a run's host left its class; empty: it did not. Only for runs that were read.
      [[nodiscard]] std::string drift(const results::RunId& run) const;
      /// Returns the health of each host, in order of class and name. `runs` are those that were
      /// read.
      [[nodiscard]] std::vector<reporting::HostMetrics> hosts(
          std::span<const results::RunRecord> runs) const;

     private:
      /// Of each run; empty: it measured none.
      std::map<results::RunId, std::vector<analysis::HostHealth::Reading>> readings_;
      std::vector<analysis::HostHealth::Reading> newest_first_;
      analysis::ClassControls classes_;
    };

    /// Number of comparable runs that regressions look back over, the newest included.
    static constexpr std::size_t kRunsLookedAt = 10;

    explicit History(std::size_t slowest_layers) : slowest_layers_(slowest_layers) {}

    /// Returns the state after `runs`, which are newest first as Store::runs() gives them. Runs
    /// that were measured in pairs belong to their comparison, and are left out. The baseline of a
    /// series is the newest comparable run of its suite tagged `baseline/SUITE`, else `baseline`. A
    /// run that cannot be analysed any more (its models changed) has its row counts only. A run
    /// whose host left its class (run_series.hpp) is not compared: its times are inconclusive.
    /// Throws what the store throws.
    [[nodiscard]] std::vector<reporting::SuiteMetrics> suites(
        const session::SessionContext::Archive& archive, std::span<const results::RunRecord> runs);

    /// Returns the health of the hosts of the runs that suites() took last.
    [[nodiscard]] const std::vector<reporting::HostMetrics>& hosts() const { return hosts_; }

    /// Returns how many of the runs looked at last could not be analysed.
    [[nodiscard]] std::size_t unreadable() const;

   private:
    struct Entry {
      std::shared_ptr<const reporting::RunMetrics> metrics;
      bool readable = false;
      bool used = false;  ///< by the call of suites() in progress
    };
    [[nodiscard]] std::shared_ptr<const reporting::RunMetrics> analysed(
        const session::SessionContext::Archive& archive, const results::RunId& run);
    void judge(const session::SessionContext::Archive& archive,
               std::span<const results::RunRecord* const> newest_first,
               reporting::SuiteMetrics& suite);

    std::size_t slowest_layers_;
    std::map<results::RunId, Entry> analysed_;
    Controls controls_;
    std::vector<reporting::HostMetrics> hosts_;
  };

  /// Settings of a collector.
  struct Settings {
    std::string store_url;
    std::size_t slowest_layers = 10;  ///< of each model
    std::string version;              ///< of this program
    std::optional<Seconds> max_age;   ///< runs that started longer ago are left out
  };

  /// Collector of the metrics of a store that others write to. When the store cannot be read, what
  /// was read last stays. For one thread.
  class Collector final : public prometheus::Collectable {
   public:
    /// Keeps a reference to the models.
    Collector(Settings settings, const session::ModelSource& models)
        : settings_(std::move(settings)), models_(models) {}

    /// Reads what changed since the last call, and returns whether the runs' metrics may have
    /// changed. A store that is gone, locked or damaged is no error here: see health() and
    /// problem(). `now` ages runs.
    bool refresh(Timestamp now);

    [[nodiscard]] const std::shared_ptr<const std::vector<reporting::SuiteMetrics>>& suites()
        const {
      return suites_;
    }
    [[nodiscard]] const std::shared_ptr<const std::vector<reporting::HostMetrics>>& hosts() const {
      return hosts_;
    }
    /// Returns all runs, newest first, as Store::runs() gives them.
    [[nodiscard]] const std::shared_ptr<const std::vector<results::RunRecord>>& runs() const {
      return runs_;
    }
    /// Returns the state of the store. `series` and `rebuild` are left to whoever serves the
    /// metrics.
    [[nodiscard]] reporting::StoreHealth health() const;
    /// Returns why the store cannot be read; empty if it can.
    [[nodiscard]] const std::string& problem() const { return problem_; }

    /// Returns all metrics as they are after the last refresh().
    [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

   private:
    void connect();
    bool read(Timestamp now);

    Settings settings_;
    const session::ModelSource& models_;
    History history_{settings_.slowest_layers};
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
  struct Snapshot {
    bool up = false;                                        ///< the store could be read
    std::shared_ptr<const ExpositionWriter::Part> health;   ///< of the store and this program
    std::shared_ptr<const ExpositionWriter::Part> results;  ///< of models and runs
    std::shared_ptr<const std::vector<reporting::SuiteMetrics>> suites;
    std::shared_ptr<const std::vector<reporting::HostMetrics>> hosts;
    std::shared_ptr<const std::vector<results::RunRecord>> runs;  ///< newest first
  };

  /// Starts to look at the store, now and then every `interval`. Keeps a reference to the models.
  MetricsPublisher(Settings settings,
                   const session::ModelSource& models,
                   std::chrono::milliseconds interval);
  MetricsPublisher(const MetricsPublisher&) = delete;
  MetricsPublisher& operator=(const MetricsPublisher&) = delete;
  MetricsPublisher(MetricsPublisher&&) = delete;
  MetricsPublisher& operator=(MetricsPublisher&&) = delete;
  /// Ends after the reading in progress.
  ~MetricsPublisher();

  /// Returns the newest metrics, at once. From any thread.
  [[nodiscard]] std::shared_ptr<const Snapshot> snapshot() const;
  /// Waits until the store has been looked at once, but not for longer than `most`.
  void wait_for_first(std::chrono::milliseconds most);

 private:
  void work();
  void publish();

  Collector collector_;
  std::chrono::milliseconds interval_;
  std::shared_ptr<const ExpositionWriter::Part> results_;
  std::optional<Seconds> rebuild_;
  std::string told_;  ///< the problem that was logged last

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  bool looked_ = false;
  std::shared_ptr<const Snapshot> snapshot_;
  std::thread thread_;
};

}  // namespace plumb::serve
