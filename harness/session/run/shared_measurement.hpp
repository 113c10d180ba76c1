// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/session/run/model_runs.hpp"
#include "harness/session/run/suite_run.hpp"
#include "harness/session/stored/run_session.hpp"
#include "harness/session/work/executor.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/session/work/work_items.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// The one item of the preparation.
inline constexpr const char* kPreparationItem = "prepare";

/// Part of one process in a run that several share (docs/reference/shared-runs.md).
///
/// Keys are claimed one by one. When all of them are measured, models are. A process measures in
/// its further processes what it has, and then looks for what others left.
class SharedMeasurement {
 public:
  /// Stages of a shared run's work, in their order.
  enum Stage : int {
    kPreparation = 0,  ///< finds what can be reused, calibrates, and lists all other items
    kLayers = 1,       ///< one item a key
    kModels = 2,       ///< one item a model; all keys are measured before
  };

  /// Work of a shared run that this process claims item by item. While the server is away it waits.
  class ClaimedWork final : public WorkSource {
   public:
    /// Keeps references to the arguments. No new item is claimed once `stopped` says so.
    ClaimedWork(store::Store& store,
                const results::RunId& run,
                const std::function<bool()>& stopped)
        : store_(store), run_(run), stopped_(stopped) {}

    /// Sets the items of which claims may be: all of the suite, with what is still to be measured.
    void set_items(std::vector<WorkSource::Item> items) { items_ = std::move(items); }
    [[nodiscard]] const std::vector<WorkSource::Item>& items() const override { return items_; }
    /// Claims a key, the heaviest first. One that another process left half measured has only the
    /// cache modes that lack; one that lacks none is not returned: take_left() does.
    [[nodiscard]] std::optional<WorkSource::Item> next() override;
    /// Returns the keys that other processes measured but may not have confirmed, once.
    [[nodiscard]] std::set<std::string> take_left() { return std::exchange(left_, {}); }

    void offer(Stage stage, const std::vector<std::string>& items);
    /// Claims an item of a stage. Absent: there is none now, or the user stopped the run.
    [[nodiscard]] std::optional<std::string> claim(Stage stage);
    /// Returns the items of a stage that this process has and that are not done.
    [[nodiscard]] std::vector<std::string> claims(Stage stage);
    void note(const std::vector<std::string>& items, store::SharedWork::Progress progress);
    [[nodiscard]] std::map<int, store::SharedWork::Count> count();
    /// Waits for a moment, in which other processes may leave an item or do one.
    void wait() const;

   private:
    template <typename Ask>
    auto ask(Ask&& ask);
    [[nodiscard]] std::optional<WorkSource::Item> wanted(const std::string& key, bool fresh);

    store::Store& store_;
    const results::RunId& run_;
    const std::function<bool()>& stopped_;
    std::vector<WorkSource::Item> items_;
    std::set<std::string> known_;  ///< keys that next() has looked at
    std::set<std::string> left_;
  };

  /// Thread that renews the lease of a process that joined a shared run, until it is destroyed. It
  /// has a connection of its own, and tries again where the server is away.
  class LeaseKeeper {
   public:
    /// `lease` is that of the process: it is renewed three times within it.
    LeaseKeeper(std::string url,
                results::RunId run,
                std::int64_t member,
                std::chrono::milliseconds lease);
    ~LeaseKeeper();
    LeaseKeeper(const LeaseKeeper&) = delete;
    LeaseKeeper& operator=(const LeaseKeeper&) = delete;
    LeaseKeeper(LeaseKeeper&&) = delete;
    LeaseKeeper& operator=(LeaseKeeper&&) = delete;

   private:
    void keep();

    std::string url_;
    results::RunId run_;
    std::int64_t member_;
    std::chrono::milliseconds lease_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool ends_ = false;  ///< guarded by mutex_
    std::thread thread_;
  };

  /// Runs the scenarios of some models, by index. Returns false if the work was ended.
  using LoadRunner = std::function<bool(const std::vector<std::size_t>& models)>;

  /// Keeps references to all arguments but `items`, which are those of the whole suite.
  SharedMeasurement(const SessionContext& context,
                    const SuiteRun::Options& options,
                    const suite::ResolvedSuite& suite,
                    std::span<const PlannedModel> models,
                    const RunSession& session,
                    Executor& executor,
                    const std::function<bool()>& stopped,
                    std::vector<WorkSource::Item> items);

  /// Reuses rows, calibrates and lists the work, or waits until another process has done so.
  void prepare();
  /// Measures until all of the run is done. Adds to the counts of `all`. Returns false if stopped.
  [[nodiscard]] bool measure(Executor::Summary& all, const LoadRunner& run_loads);
  /// Returns whether this process had some of what was done last.
  [[nodiscard]] bool measured_last() const { return measured_last_; }

 private:
  /// Claims and measures keys until every key of the run is measured. Returns false if stopped.
  bool measure_layers(Executor::Summary& all);
  /// Claims and executes models, then measures what this process has in further processes, and
  /// notes it as done. Returns false if stopped.
  bool execute_models(const LoadRunner& run_loads);
  /// Returns whether every item of the run is done.
  [[nodiscard]] bool is_done();
  [[nodiscard]] std::vector<WorkSource::Confirmation> unconfirmed_of(
      const std::set<std::string>& keys, std::size_t processes) const;
  /// Returns the models of some items, by index.
  [[nodiscard]] std::vector<std::size_t> indices_of(const std::vector<std::string>& items) const;
  /// Returns those of some models that are executed end to end.
  [[nodiscard]] std::vector<std::size_t> executed(std::vector<std::size_t> indices) const;

  const SessionContext& context_;
  const SuiteRun::Options& options_;
  const suite::ResolvedSuite& suite_;
  std::span<const PlannedModel> models_;
  const RunSession& session_;
  Executor& executor_;
  const std::function<bool()>& stopped_;
  std::vector<WorkSource::Item> items_;
  ClaimedWork work_;
  ModelRuns runs_;
  bool measured_last_ = false;
};

}  // namespace plumb::session
