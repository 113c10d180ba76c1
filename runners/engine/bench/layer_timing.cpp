// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/layer_timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "harness/measure/own_clock.hpp"
#include "harness/results/host_pace.hpp"
#include "runners/engine/bench/block_sum.hpp"

namespace plumb::engine {
namespace {

constexpr int kPatience = 3;
constexpr std::int64_t kAsItComes = 0;  // attempts: no block is waited for, and none is repeated

Timestamp now() {
  return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

}  // namespace

results::Outcome judge_stability(const measure::SampleSummary& summary) {
  if (summary.n < 2) {
    return {results::Outcome::Kind::kUnstable, "only one sample within the budget"};
  }
  const auto width = measure::relative_half_width(summary);
  if (width && *width > LayerTiming::kUnstableAbove) {
    return {
        results::Outcome::Kind::kUnstable,
        fmt::format(
            "the median's interval is ±{:.1f}% after {} samples; up to ±{:.0f}% counts as stable",
            *width * 100.0,
            summary.n,
            LayerTiming::kUnstableAbove * 100.0)};
  }
  return {};
}

LayerTiming::LayerTiming(measure::Clock clock,
                         measure::DisturbanceSource disturbance,
                         BlockMonitor* monitor,
                         HostPaceSource pace)
    : clock_(std::move(clock)),
      disturbance_(std::move(disturbance)),
      monitor_(monitor),
      pace_(std::move(pace)) {}

const HarnessOverhead& LayerTiming::floor() {
  if (!floor_known_) {
    floor_ = measure_floor(clock_);
    floor_known_ = true;
  }
  return floor_;
}

void LayerTiming::know_pace(std::optional<Seconds> fastest) {
  if (fastest) {
    fastest_pace_ = std::min(fastest_pace_.value_or(*fastest), *fastest);
  }
}

Seconds LayerTiming::quiet_pace() {
  // Neighbours on the core stay for tenths of a second.
  constexpr Seconds kPause{0.01};
  while (true) {
    const Seconds pace = pace_();
    fastest_pace_ = std::min(fastest_pace_.value_or(pace), pace);
    const Seconds age = std::chrono::steady_clock::now() - began_;
    if (pace <= results::kSlowPace * *fastest_pace_ ||
        waited_ >= kMinWaiting + kWaitingShare * age) {
      return pace;
    }
    std::this_thread::sleep_for(kPause);
    waited_ += kPause;
  }
}

std::string LayerTiming::watch_block(const std::function<void()>& work,
                                     bool paced,
                                     bool watched,
                                     results::Measurement& row) {
  const Seconds before = paced ? quiet_pace() : Seconds(0.0);
  const measure::DisturbanceReading begin = disturbance_();
  if (watched) {
    monitor_->begin();
  }
  work();
  row.disturbance = measure::disturbance_between(begin, disturbance_());
  MonitoredBlock seen;
  if (watched) {
    seen = monitor_->end();
    watched_ = clock_();
    row.disturbance.disturbed = row.disturbance.disturbed || seen.disturbed;
  }
  row.readings = std::move(seen.readings);  // replaces those of an earlier timing
  if (paced) {
    const Seconds after = pace_();
    const Seconds fast = std::min(before, after);
    const Seconds slow = std::max(before, after);
    fastest_pace_ = std::min(fastest_pace_.value_or(fast), fast);
    const Seconds mean = (fast + slow) / 2.0;
    row.readings[results::kHostPace] = {mean.count(), fast.count(), slow.count(), 2};
    row.disturbance.disturbed =
        row.disturbance.disturbed || mean > results::kSlowPace * *fastest_pace_;
  }
  return std::move(seen.fault);
}

void LayerTiming::watch(const std::function<void()>& work, results::Measurement& row) {
  static_cast<void>(watch_block(work, static_cast<bool>(pace_), false, row));
}

void LayerTiming::time(measure::TimedRegion& region,
                       const measure::SamplingPlan& plan,
                       std::int64_t attempts,
                       results::Measurement& row) {
  const std::int64_t allowed =
      stayed_disturbed_ >= kPatience ? 1 : std::max<std::int64_t>(attempts, 1);
  const auto* const own = dynamic_cast<const measure::OwnClock*>(&region);
  const bool by_own_clock = own != nullptr && own->has_clock();
  const bool paced =
      attempts != kAsItComes && pace_ && row.purpose != results::Purpose::kRace && !by_own_clock;
  const bool watched = monitor_ != nullptr && (row.purpose != results::Purpose::kRace ||
                                               !watched_ || clock_() - *watched_ >= kRaceWatch);
  row.started = now();
  std::string fault;
  for (row.attempt = 1;; ++row.attempt) {
    measure::Samples samples;
    fault =
        watch_block([&] { samples = measure::sample(region, plan, clock_); }, paced, watched, row);
    row.repetitions = static_cast<std::int64_t>(samples.repetitions);
    row.samples = std::move(samples.seconds);
    if (!row.disturbance.disturbed || row.attempt >= allowed || !fault.empty()) {
      break;
    }
  }
  stayed_disturbed_ = row.disturbance.disturbed ? stayed_disturbed_ + 1 : 0;
  row.summary = measure::summarize(row.samples);
  row.floor = by_own_clock ? Seconds(0.0) : floor().at(static_cast<std::size_t>(row.repetitions));
  row.outcome =
      row.purpose == results::Purpose::kRace ? results::Outcome{} : judge_stability(row.summary);
  if (!fault.empty()) {
    row.attributes[results::kDeviceFault] = fault;
    row.outcome = {results::Outcome::Kind::kCrashed, fault};
  }
}

void LayerTiming::add_turn(measure::TimedRegion& region,
                           const measure::SamplingPlan& plan,
                           results::Measurement& row) {
  results::Measurement block = row;
  block.samples.clear();
  block.readings.clear();
  time(region, plan, kAsItComes, block);
  if (block.attributes.contains(results::kDeviceFault)) {
    row.attributes.insert(*block.attributes.find(results::kDeviceFault));
    row.outcome = block.outcome;
    return;
  }
  row.started = row.turns.empty() ? block.started : row.started;
  row.turns.push_back(block.summary.median);
  append_block(block, row);
}

void LayerTiming::time_in_turns(measure::TimedRegion& region,
                                const measure::SamplingPlan& plan,
                                std::size_t turns,
                                const std::function<void()>& await_turn,
                                results::Measurement& row) {
  measure::SamplingPlan of_turn = plan;
  of_turn.budget /= static_cast<double>(turns);
  of_turn.samples_at_least = (plan.samples_at_least + turns - 1) / turns;
  for (std::size_t turn = 0; turn < turns && row.outcome.timed(); ++turn) {
    await_turn();
    add_turn(region, of_turn, row);
    of_turn.warm_up_at_most = of_turn.warm_up_at_least;  // only the caches, from now on
  }
  if (row.outcome.timed()) {
    row.summary = measure::summarize(row.samples);
    row.outcome = judge_stability(row.summary);
  }
}

}  // namespace plumb::engine
