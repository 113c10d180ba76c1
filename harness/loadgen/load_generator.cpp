// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/load_generator.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/loadgen/completion_recorder.hpp"
#include "harness/loadgen/query_schedule.hpp"

namespace plumb::loadgen {
namespace {

using Nanoseconds = std::chrono::nanoseconds;

/// Pass over a load: the warm-up, or the run itself.
class LoadPass {
 public:
  LoadPass(const EffectiveLoad& load,
           SystemUnderTest& system,
           LoadClock& clock,
           ResponseLog* responses)
      : load_(load),
        system_(system),
        clock_(clock),
        picker_(load),
        recorder_(std::make_shared<CompletionRecorder>(
            clock,
            CompletionRecorder::Options{
                load.latency_limit, load.scenario == LoadScenario::kMultiStream, responses})) {}
  // The system may still answer after an exception.
  ~LoadPass() { recorder_->close(); }
  LoadPass(const LoadPass&) = delete;
  LoadPass& operator=(const LoadPass&) = delete;
  LoadPass(LoadPass&&) = delete;
  LoadPass& operator=(LoadPass&&) = delete;

  LoadResult run() {
    system_.start(recorder_);
    issued_.start = clock_.now();
    switch (load_.scenario) {
      case LoadScenario::kSingleStream:
      case LoadScenario::kMultiStream:
        issue_one_by_one();
        break;
      case LoadScenario::kServer:
        issue_on_schedule();
        break;
      case LoadScenario::kOffline:
        issue_at_once();
        break;
    }
    system_.flush();
    await_all_but(0);
    recorder_->close();
    LoadResult result = make_load_result(load_, issued_, recorder_->tally());
    result.system = system_.describe();
    return result;
  }

 private:
  /// Returns whether another query is due, by the number of queries and the time of the last one.
  /// Always true in accuracy mode.
  [[nodiscard]] bool wants_more() const {
    return load_.mode == LoadMode::kAccuracy || issued_.queries < load_.minimum_queries ||
           issued_.last_issue < load_.minimum_duration;
  }

  /// Returns whether a query may be issued at this time after the start.
  bool within_budget(Nanoseconds elapsed) {
    issued_.out_of_budget =
        load_.maximum_duration && issued_.queries > 0 && elapsed >= *load_.maximum_duration;
    return !issued_.out_of_budget;
  }

  /// Issues the next query. Returns false if accuracy mode has no sample left.
  bool issue(Nanoseconds scheduled) {
    picker_.pick(indices_);
    if (indices_.empty()) {
      return false;
    }
    recorder_->add_query(scheduled, indices_, samples_);
    ++issued_.queries;
    issued_.samples += indices_.size();
    system_.issue(samples_);
    return true;
  }

  /// Waits until at most `outstanding` samples are outstanding. Returns false if the system has
  /// stalled.
  bool await_all_but(std::uint64_t outstanding) {
    CompletionCount& done = recorder_->done();
    if (issued_.samples <= outstanding) {
      return true;
    }
    const std::uint64_t target = issued_.samples - outstanding;
    for (std::uint64_t seen = done.value(); seen < target;) {
      if (clock_.wait_for(done, target, clock_.now() + load_.stall_limit)) {
        return true;
      }
      const std::uint64_t now = done.value();
      if (now == seen) {
        return false;
      }
      seen = now;
    }
    return true;
  }

  void issue_one_by_one() {
    while (wants_more()) {
      const Nanoseconds now = clock_.now();
      if (!within_budget(now - issued_.start) || !issue(now)) {
        return;
      }
      issued_.last_issue = now - issued_.start;
      if (!await_all_but(0)) {
        return;
      }
    }
  }

  void issue_on_schedule() {
    if (load_.mode == LoadMode::kAccuracy) {
      while (issue(issued_.start)) {
      }
      return;
    }
    if (!load_.target_rate) {
      throw Error(Error::Kind::kUser,
                  "server needs a target rate: give one, or search for the peak");
    }
    ArrivalSchedule schedule(load_.seeds.schedule, *load_.target_rate);
    while (wants_more()) {
      const Nanoseconds due = schedule.next();
      if (!within_budget(due)) {
        return;
      }
      const Nanoseconds now = clock_.wait_until(issued_.start + due);
      if (!within_budget(now - issued_.start) || !issue(issued_.start + due)) {
        return;
      }
      issued_.lateness.record(now - issued_.start - due);
      issued_.last_issue = due;
      if (load_.over_latency_at_most && recorder_->over_latency() > *load_.over_latency_at_most) {
        issued_.stopped_as_lost = true;
        return;
      }
    }
  }

  void issue_at_once() {
    const bool once = !load_.fixed_duration || load_.mode == LoadMode::kAccuracy;
    do {
      const Nanoseconds elapsed = clock_.now() - issued_.start;
      if (!within_budget(elapsed) || !issue(issued_.start)) {
        return;
      }
      issued_.last_issue = elapsed;
    } while (!once && await_all_but(load_.samples_per_query) &&
             clock_.now() - issued_.start < load_.minimum_duration);
  }

  const EffectiveLoad& load_;
  SystemUnderTest& system_;
  LoadClock& clock_;
  SamplePicker picker_;
  std::shared_ptr<CompletionRecorder> recorder_;
  IssueTally issued_;
  std::vector<std::uint64_t> indices_;
  std::vector<QuerySample> samples_;
};

/// Returns the load that warms up for another one.
EffectiveLoad make_warm_up(const EffectiveLoad& load) {
  EffectiveLoad warm = load;
  warm.mode = LoadMode::kPerformance;
  warm.fixed_duration = true;
  warm.minimum_duration = load.warm_up;
  warm.maximum_duration.reset();
  warm.minimum_queries = 1;
  warm.over_latency_at_most.reset();
  // Offline's one query may be far longer than a warm-up, and is cut to the loaded samples.
  if (load.scenario == LoadScenario::kOffline) {
    warm.samples_per_query = std::min(load.samples_per_query, load.loaded_samples);
  }
  return warm;
}

}  // namespace

LoadResult run_load(const EffectiveLoad& load,
                    SystemUnderTest& system,
                    LoadClock& clock,
                    ResponseLog* responses) {
  if (load.warm_up > Nanoseconds{}) {
    const EffectiveLoad warm = make_warm_up(load);
    LoadResult result = LoadPass(warm, system, clock, nullptr).run();
    if (result.samples_dropped > 0) {
      return result;
    }
  }
  const bool accuracy = load.mode == LoadMode::kAccuracy;
  return LoadPass(load, system, clock, accuracy ? responses : nullptr).run();
}

}  // namespace plumb::loadgen
