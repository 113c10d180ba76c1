// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/load_generator.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/loadgen/completion_recorder.hpp"

namespace plumb::loadgen {
namespace {

/// Returns LoadGen's generator for a seed, which takes its lower 32 bits.
std::mt19937 generator(std::uint64_t seed) {
  return std::mt19937(static_cast<std::mt19937::result_type>(seed));
}

/// Returns 0, stride, 2 · stride … below `count`, shuffled. The standard does not fix the order of
/// std::shuffle; LoadGen's is that of libstdc++, too.
std::vector<std::uint64_t> shuffled(std::uint64_t count,
                                    std::uint64_t stride,
                                    std::mt19937& random) {
  std::vector<std::uint64_t> numbers((count + stride - 1) / stride);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = i * stride;
  }
  std::shuffle(numbers.begin(), numbers.end(), random);
  return numbers;
}

/// Returns the distance between the first samples of queries that share no sample.
std::uint64_t compute_stride(const EffectiveLoad& load) {
  return load.scenario == RequestedLoad::Scenario::kMultiStream ? load.samples_per_query : 1;
}

}  // namespace

std::vector<std::uint64_t> sample_set(const EffectiveLoad& load) {
  std::mt19937 random = generator(load.seeds.data_set);
  const bool accuracy = load.mode == RequestedLoad::Mode::kAccuracy;
  return shuffled(accuracy ? load.total_samples : load.loaded_samples, 1, random);
}

SamplePicker::SamplePicker(const EffectiveLoad& load)
    : load_(load),
      set_(sample_set(load)),
      random_(generator(load.seeds.samples)),
      draw_(0, static_cast<std::int64_t>(set_.size()) - 1) {
  const std::uint64_t stride = compute_stride(load);
  starts_ = shuffled(set_.size(), stride, random_);
  if (load.mode == RequestedLoad::Mode::kPerformance) {
    // LoadGen shuffles two lists before its first draw, whether they are used or not: queries
    // without common samples, and the set with its padding.
    static_cast<void>(shuffled(set_.size() + stride - 1, 1, random_));
    starts_.clear();
  }
}

void SamplePicker::pick(std::vector<std::uint64_t>& indices) {
  indices.clear();
  if (load_.mode == RequestedLoad::Mode::kAccuracy) {
    pick_once(indices);
    return;
  }
  if (load_.scenario != RequestedLoad::Scenario::kOffline) {
    next_ = static_cast<std::uint64_t>(draw_(random_));
  }
  for (std::uint64_t i = 0; i < load_.samples_per_query; ++i) {
    indices.push_back(set_[next_]);
    next_ = next_ + 1 == set_.size() ? 0 : next_ + 1;
  }
}

void SamplePicker::pick_once(std::vector<std::uint64_t>& indices) {
  if (load_.scenario == RequestedLoad::Scenario::kOffline) {
    indices.assign(set_.begin() + static_cast<std::ptrdiff_t>(next_), set_.end());
    next_ = set_.size();
    return;
  }
  if (next_ == starts_.size()) {
    return;
  }
  const std::uint64_t first = starts_[next_++];
  const std::uint64_t last = std::min<std::uint64_t>(first + load_.samples_per_query, set_.size());
  indices.assign(set_.begin() + static_cast<std::ptrdiff_t>(first),
                 set_.begin() + static_cast<std::ptrdiff_t>(last));
}

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
            CompletionRecorder::Options{load.latency_limit,
                                        load.scenario == RequestedLoad::Scenario::kMultiStream,
                                        responses})) {}
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
      case RequestedLoad::Scenario::kSingleStream:
      case RequestedLoad::Scenario::kMultiStream:
        issue_one_by_one();
        break;
      case RequestedLoad::Scenario::kServer:
        issue_on_schedule();
        break;
      case RequestedLoad::Scenario::kOffline:
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
    return load_.mode == RequestedLoad::Mode::kAccuracy ||
           issued_.queries < load_.minimum_queries || issued_.last_issue < load_.minimum_duration;
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
    LoadClock::CompletionCount& done = recorder_->done();
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
    if (load_.mode == RequestedLoad::Mode::kAccuracy) {
      while (issue(issued_.start)) {
      }
      return;
    }
    if (!load_.target_rate) {
      throw Error(Error::Kind::kUser,
                  "server needs a target rate: give one, or search for the peak");
    }
    EffectiveLoad::Arrivals schedule(load_.seeds.schedule, *load_.target_rate);
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
    const bool once = !load_.fixed_duration || load_.mode == RequestedLoad::Mode::kAccuracy;
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
  LoadResult::IssueTally issued_;
  std::vector<std::uint64_t> indices_;
  std::vector<SystemUnderTest::Sample> samples_;
};

/// Returns the load that warms up for another one.
EffectiveLoad make_warm_up(const EffectiveLoad& load) {
  EffectiveLoad warm = load;
  warm.mode = RequestedLoad::Mode::kPerformance;
  warm.fixed_duration = true;
  warm.minimum_duration = load.warm_up;
  warm.maximum_duration.reset();
  warm.minimum_queries = 1;
  warm.over_latency_at_most.reset();
  // Offline's one query may be far longer than a warm-up, and is cut to the loaded samples.
  if (load.scenario == RequestedLoad::Scenario::kOffline) {
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
  const bool accuracy = load.mode == RequestedLoad::Mode::kAccuracy;
  return LoadPass(load, system, clock, accuracy ? responses : nullptr).run();
}

}  // namespace plumb::loadgen
