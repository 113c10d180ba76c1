// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/load/model_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/loadgen/batching.hpp"
#include "harness/loadgen/budgeted_load.hpp"
#include "harness/loadgen/mlperf/mlperf_log.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/worker/protocol/requests.hpp"
#include "runners/engine/bench/batch_runner.hpp"
#include "runners/engine/bench/candidate.hpp"

namespace plumb::engine {
namespace {

/// Reporter of a load's progress at each new phase, and about once a second. It reports from a
/// thread of its own, and never after its destruction.
class LoadHeartbeat {
 public:
  /// Starts the thread, which calls `report` and `batches`.
  LoadHeartbeat(worker::LoadReport report,
                std::function<std::uint64_t()> batches,
                measure::Clock clock);
  ~LoadHeartbeat();
  LoadHeartbeat(const LoadHeartbeat&) = delete;
  LoadHeartbeat& operator=(const LoadHeartbeat&) = delete;
  LoadHeartbeat(LoadHeartbeat&&) = delete;
  LoadHeartbeat& operator=(LoadHeartbeat&&) = delete;

  /// Sets the phase that is reported from now on.
  void enter(std::string phase);

 private:
  void beat();

  worker::LoadReport report_;
  std::function<std::uint64_t()> batches_;
  measure::Clock clock_;
  Seconds begin_;
  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  std::string phase_ = "reading";
  bool fresh_ = true;
  bool ended_ = false;
  std::thread thread_;
};

LoadHeartbeat::LoadHeartbeat(worker::LoadReport report,
                             std::function<std::uint64_t()> batches,
                             measure::Clock clock)
    : report_(std::move(report)),
      batches_(std::move(batches)),
      clock_(std::move(clock)),
      begin_(clock_()),
      thread_([this] { beat(); }) {}

LoadHeartbeat::~LoadHeartbeat() {
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LoadHeartbeat::enter(std::string phase) {
  {
    const std::scoped_lock lock(mutex_);
    phase_ = std::move(phase);
    fresh_ = true;
  }
  changed_.notify_all();
}

void LoadHeartbeat::beat() {
  std::unique_lock lock(mutex_);
  while (!ended_) {
    const worker::LoadRequest::Progress progress{phase_, batches_(), clock_() - begin_};
    fresh_ = false;
    lock.unlock();
    try {
      report_(progress);
    } catch (const std::exception&) {
      return;  // no receiver is left; the final answer will fail
    }
    lock.lock();
    changed_.wait_for(lock, std::chrono::seconds(1), [this] { return ended_ || fresh_; });
  }
}

bool is_stream(loadgen::RequestedLoad::Scenario scenario) {
  return scenario == loadgen::RequestedLoad::Scenario::kSingleStream ||
         scenario == loadgen::RequestedLoad::Scenario::kMultiStream;
}

/// Returns the samples that make two batches for each lane, and at least one whole query.
std::size_t least_samples(const worker::LoadRequest& request) {
  const std::uint64_t query =
      is_stream(request.load.scenario) ? loadgen::resolve_load(request.load).samples_per_query : 1;
  return std::max(2 * request.batches.lanes * request.batches.maximum_batch,
                  static_cast<std::size_t>(query));
}

/// Model that is ready for a load, called by one thread or behind a batcher.
class LoadedSystem {
 public:
  LoadedSystem(BatchRunner& executor,
               const worker::LoadRequest& request,
               const loadgen::LoadClock& clock) {
    if (is_stream(request.load.scenario) && request.batches.lanes == 1) {
      direct_ = std::make_unique<loadgen::DirectSystem>(executor, request.batches.maximum_batch);
    } else {
      batcher_ = std::make_unique<loadgen::DynamicBatcher>(executor, request.batches, clock);
    }
  }

  [[nodiscard]] loadgen::SystemUnderTest& system() {
    return direct_ ? static_cast<loadgen::SystemUnderTest&>(*direct_) : *batcher_;
  }
  [[nodiscard]] bool direct() const { return direct_ != nullptr; }
  [[nodiscard]] std::vector<loadgen::BatchExecutor::BucketUse> uses() const {
    return direct_ ? direct_->uses() : batcher_->uses();
  }

 private:
  std::unique_ptr<loadgen::DirectSystem> direct_;
  std::unique_ptr<loadgen::DynamicBatcher> batcher_;
};

/// Runs a load in accuracy mode and stores how far its answers agree. A wrong answer becomes the
/// outcome.
loadgen::LoadResult ask_once(LoadedSystem& loaded,
                             const loadgen::RequestedLoad& asked,
                             loadgen::LoadClock& clock,
                             BatchRunner::Check& check,
                             results::ScenarioResult& load) {
  loadgen::LoadResult result =
      loadgen::run_load(loadgen::resolve_load(asked), loaded.system(), clock, &check);
  load.agreement = check.agreement();
  if (!check.outcome().ok()) {
    load.outcome = check.outcome();
  }
  return result;
}

/// Prepares a program for each bucket and lane, checks answers, and then runs the load.
void run(worker::Backend& backend,
         const measure::Clock& clock,
         loadgen::LoadClock& load_clock,
         const worker::LoadRequest& request,
         BatchRunner& executor,
         LoadHeartbeat& heart,
         results::ScenarioResult& load) {
  const Seconds begin = clock();
  for (const worker::LoadRequest::Bucket& bucket : request.buckets) {
    heart.enter(fmt::format("preparing batches of {}", bucket.samples));
    load.outcome = executor.add(backend, bucket, request.batches.lanes, clock);
    if (!load.outcome.ok()) {
      return;
    }
  }
  load.preparation = clock() - begin;
  load.memory = executor.memory();
  load.reorders = executor.reorders();
  load.requested.total_samples = executor.samples();
  load.requested.loaded_samples = executor.samples();
  LoadedSystem loaded(executor, request, load_clock);
  load.direct = loaded.direct();
  const std::size_t checked = std::min(executor.samples(), least_samples(request));
  heart.enter("checking answers");
  const worker::ExecuteRequest& model = request.buckets.front().model;
  const std::string_view type = model.executed_type(model.modes.front().mode);
  BatchRunner::Check before(executor, checked, type, nullptr);
  static_cast<void>(
      ask_once(loaded, answer_check_load(request.load, checked), load_clock, before, load));
  if (!load.outcome.ok()) {
    return;
  }
  const std::optional<Seconds> left =
      request.budget ? std::optional(*request.budget - load.preparation) : std::nullopt;
  loadgen::BudgetedLoad done = loadgen::run_within(
      load.requested, left, loaded.system(), load_clock, [&](const std::string& phase) {
        heart.enter(phase);
      });
  load.requested = done.requested;
  load.result = std::move(done.result);
  if (done.peak) {
    load.peak = results::summarize(*done.peak);
  }
  load.buckets = loaded.uses();
  if (!request.accuracy_log.empty()) {
    heart.enter("accuracy: every sample once");
    std::ofstream file(request.accuracy_log, std::ios::binary);
    loadgen::MlperfAccuracyLog log(file);
    BatchRunner::Check all(executor, executor.samples(), type, &log);
    loadgen::RequestedLoad asked = loadgen::accuracy_load(load.requested, executor.samples());
    if (load.result) {
      asked.target_rate = load.result->load.target_rate;  // as the search found it
    }
    load.accuracy = ask_once(loaded, asked, load_clock, all, load);
    log.finish();
    file.close();
    if (!file) {
      throw Error(Error::Kind::kEnvironment,
                  fmt::format("cannot write '{}': check the folder and the disk's space",
                              request.accuracy_log.string()));
    }
  }
}

}  // namespace

results::ScenarioResult load_model(worker::Backend& backend,
                                   LayerTiming& timing,
                                   const measure::DisturbanceSource& disturbance,
                                   loadgen::LoadClock& clock,
                                   const worker::LoadRequest& request,
                                   const worker::LoadReport& report) {
  results::ScenarioResult load = worker::begin_load(request);
  load.started = current_time();
  const std::chrono::nanoseconds started = clock.now();
  load.floor = timing.floor().at(1);
  fmt::print(stderr, "loading {}: {}\n", load.model, to_text(load.scenario));
  const Seconds begin = timing.clock()();
  const measure::Disturbance::Reading before = disturbance();
  guarded(load.outcome, [&] {
    BatchRunner executor(fmt::format("{} ({})", load.model, load.mode),
                         std::max<std::size_t>(request.data_set, least_samples(request)));
    LoadHeartbeat heart(
        report, [&executor] { return executor.batches(); }, timing.clock());
    run(backend, timing.clock(), clock, request, executor, heart, load);
  });
  for (std::optional<loadgen::LoadResult>* result : {&load.result, &load.accuracy}) {
    if (*result) {
      (*result)->begin -= started;
    }
  }
  load.disturbance = measure::disturbance_between(before, disturbance());
  load.wall = timing.clock()() - begin;
  return load;
}

}  // namespace plumb::engine
