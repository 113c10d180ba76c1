// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/layer_timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/measure/sample_summary.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/results/measurement.hpp"
#include "harness/worker/protocol/backend.hpp"

namespace plumb::engine {
namespace {

constexpr std::int64_t kMaxSlots = 1024;
constexpr std::array<std::size_t, 4> kSamples{31, 15, 11, 7};

struct Priced {
  LayerTiming::Rotation rotation;
  Seconds cost{};
};

std::int64_t slots_in_memory(const LayerTiming::Rotation::Costs& costs) {
  const std::int64_t size = std::max<std::int64_t>(costs.slot.value, 1);
  return std::clamp<std::int64_t>(costs.memory.value / size, 1, kMaxSlots);
}

std::optional<Priced> price_ring(const LayerTiming::Rotation::Costs& costs, std::size_t samples) {
  const std::int64_t size = std::max<std::int64_t>(costs.slot.value, 1);
  const std::int64_t needed = std::max<std::int64_t>((2 * costs.cache.value + size - 1) / size, 1);
  if (needed > std::max<std::int64_t>(slots_in_memory(costs), 1)) {
    return std::nullopt;
  }
  const Seconds cost =
      costs.bind * static_cast<double>(needed - 1) + costs.execution * static_cast<double>(samples);
  return Priced{{static_cast<std::size_t>(needed), false, samples}, cost};
}

Priced price_flushes(const LayerTiming::Rotation::Costs& costs, std::size_t samples) {
  // More slots cost more binding, but fewer passes; each pass costs a flush and a warming
  // execution.
  std::optional<Priced> best;
  const auto most = std::min(static_cast<std::size_t>(slots_in_memory(costs)), samples);
  for (std::size_t slots = 1; slots <= most; ++slots) {
    const std::size_t passes = (samples + slots - 1) / slots;
    const Seconds cost = costs.bind * static_cast<double>(slots) +
                         (costs.flush + costs.execution) * static_cast<double>(passes) +
                         costs.execution * static_cast<double>(samples);
    if (!best || cost < best->cost) {
      best = Priced{{slots, true, samples}, cost};
    }
  }
  return *best;
}

}  // namespace

LayerTiming::Rotation plan_rotation(const LayerTiming::Rotation::Costs& costs) {
  Priced cheapest;
  for (const std::size_t samples : kSamples) {
    cheapest = price_flushes(costs, samples);
    if (const auto ring = price_ring(costs, samples); ring && ring->cost <= cheapest.cost) {
      cheapest = *ring;
    }
    if (cheapest.cost <= costs.wall) {
      break;
    }
  }
  return cheapest.rotation;
}

Seconds LayerTiming::CacheFlush::cost() {
  if (cost_ == Seconds(0.0)) {
    run();
    const auto begin = std::chrono::steady_clock::now();
    run();
    cost_ = std::chrono::steady_clock::now() - begin;
  }
  return cost_;
}

void LayerTiming::CacheFlush::run() {
  if (sweep_) {
    sweep_(cache_ * 2);
    return;
  }
  constexpr std::size_t kLine = 64 / sizeof(std::uint64_t);
  if (memory_.empty()) {
    memory_.assign(static_cast<std::size_t>(2 * cache_.value) / sizeof(std::uint64_t) + 1, 1);
  }
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < memory_.size(); i += kLine) {
    sum += memory_[i];
  }
  sum_ += sum;  // a member, so that the loop has an effect
}

namespace {

measure::TimedRegion::OwnClock::Sample own(const worker::Program::DeviceClock::Sample& sample) {
  return {sample.each, sample.at_most, sample.executions};
}

}  // namespace

measure::TimedRegion::OwnClock::Sample LayerTiming::HotRegion::own_sample() {
  const std::size_t slot = 0;
  return own(device_->sample(std::span(&slot, 1)));
}

void LayerTiming::HotRegion::run(std::size_t repetitions) {
  for (std::size_t i = 0; i < repetitions; ++i) {
    program_.enqueue(0);
  }
  program_.synchronize();
}

LayerTiming::ColdRegion::ColdRegion(worker::Program& program,
                                    std::vector<std::size_t> slots,
                                    LayerTiming::CacheFlush* flush,
                                    bool warm)
    : program_(program),
      device_(dynamic_cast<worker::Program::DeviceClock*>(&program)),
      slots_(std::move(slots)),
      flush_(flush),
      warm_(warm) {
  PLUMB_CHECK(!slots_.empty());
}

void LayerTiming::ColdRegion::before_sample() {
  if (device_ != nullptr && flush_ != nullptr) {
    return;  // the sample itself makes its slot cold
  }
  if (next_ == 0 && flush_ != nullptr) {
    flush_->run();
    if (warm_) {
      program_.enqueue(0);
      program_.synchronize();
    }
  }
  if (warm_) {
    program_.refresh_activations(slots_[next_]);
  }
}

measure::TimedRegion::OwnClock::Sample LayerTiming::ColdRegion::own_sample() {
  if (flush_ == nullptr) {
    return own(device_->sample(slots_));
  }
  const std::size_t slot = slots_[next_];
  next_ = next_ + 1 == slots_.size() ? 0 : next_ + 1;
  const auto shared = warm_ ? std::optional<std::size_t>(0) : std::nullopt;
  return own(device_->sample_cold(slot, Bytes{2 * flush_->cache().value}, shared));
}

void LayerTiming::ColdRegion::run(std::size_t repetitions) {
  for (std::size_t i = 0; i < repetitions; ++i) {
    program_.enqueue(slots_[next_]);
    next_ = next_ + 1 == slots_.size() ? 0 : next_ + 1;
  }
  program_.synchronize();
}

void append_block(const results::Measurement& block, results::Measurement& row) {
  row.samples.insert(row.samples.end(), block.samples.begin(), block.samples.end());
  row.repetitions = std::max(row.repetitions, block.repetitions);
  row.floor = std::max(row.floor, block.floor);
  row.attempt = std::max(row.attempt, block.attempt);
  row.disturbance.involuntary_switches += block.disturbance.involuntary_switches;
  row.disturbance.disturbed = row.disturbance.disturbed || block.disturbance.disturbed;
  row.disturbance.load = block.disturbance.load;
  results::add_readings(row.readings, block.readings);
  const auto highest = [](std::optional<double>& known, const std::optional<double>& next) {
    known = next ? std::max(known.value_or(*next), *next) : known;
  };
  highest(row.disturbance.steal_ratio, block.disturbance.steal_ratio);
  highest(row.disturbance.pressure_ratio, block.disturbance.pressure_ratio);
}

void add_block(const results::Measurement& block, results::Measurement& row) {
  if (!row.samples.empty() && block.disturbance.disturbed && !row.disturbance.disturbed) {
    return;
  }
  if (!row.samples.empty() && !block.disturbance.disturbed && row.disturbance.disturbed) {
    row.samples.clear();
    row.readings.clear();
    row.disturbance = {};
  }
  append_block(block, row);
}

namespace {

constexpr std::size_t kChains = 8;      // of additions: more than a core adds in a cycle
constexpr std::size_t kLinks = 12'000;  // of each chain
constexpr std::size_t kTries = 4;

/// Adds along all chains. The barrier keeps the compiler from merging the additions.
std::uint64_t add_along_chains(std::uint64_t start) {
  std::array<std::uint64_t, kChains> chains{};
  chains.fill(start);
  for (std::size_t link = 0; link < kLinks; ++link) {
    for (std::uint64_t& chain : chains) {
      chain += 1;
      asm volatile("" : "+r"(chain));
    }
  }
  return chains.front();
}

}  // namespace

Seconds LayerTiming::Pace::measure() {
  std::array<Seconds, kTries> taken{};
  for (Seconds& each : taken) {
    const Seconds begin = clock_();
    sum_ = add_along_chains(sum_);
    each = clock_() - begin;
  }
  std::sort(taken.begin(), taken.end());
  return (taken[kTries / 2 - 1] + taken[kTries / 2]) / 2.0;
}

HostPaceSource host_pace_source() {
  return [pace = LayerTiming::Pace(measure::steady_clock())]() mutable { return pace.measure(); };
}

namespace {

class EmptyProgram final : public worker::Program {
 public:
  [[nodiscard]] worker::Program::Facts facts() const override { return {}; }
  void bind(std::size_t /*slot*/,
            std::span<const model::Tensor> /*operands*/,
            bool /*shared*/) override {}
  void enqueue(std::size_t slot) override { last_ = slot; }
  void synchronize() override { last_ = 0; }
  [[nodiscard]] std::vector<model::Tensor> outputs(std::size_t /*slot*/) override { return {}; }

 private:
  std::size_t last_ = 0;
};

Seconds measure_median(measure::TimedRegion& region,
                       std::size_t repetitions,
                       std::size_t samples,
                       const measure::Clock& clock) {
  std::vector<Seconds> whole;
  whole.reserve(samples);
  for (std::size_t i = 0; i < samples; ++i) {
    region.before_sample();
    const Seconds begin = clock();
    region.run(repetitions);
    whole.push_back(clock() - begin);
  }
  return measure::summarize(whole).median;
}

}  // namespace

LayerTiming::Overhead measure_floor(const measure::Clock& clock) {
  constexpr std::size_t kMany = 1024;
  // Called through a pointer to the base class, so that the calls stay virtual.
  const std::unique_ptr<worker::Program> program = std::make_unique<EmptyProgram>();
  LayerTiming::HotRegion region(*program);
  static_cast<void>(measure_median(region, kMany, 10, clock));
  const Seconds one = measure_median(region, 1, 1001, clock);
  const Seconds many = measure_median(region, kMany, 101, clock);
  // A sample of r executions costs s + r·e, so that the two medians give both parts.
  LayerTiming::Overhead floor;
  floor.execution = std::max(Seconds(0.0), (many - one) / static_cast<double>(kMany - 1));
  floor.sample = std::max(Seconds(0.0), one - floor.execution);
  return floor;
}

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

const LayerTiming::Overhead& LayerTiming::floor() {
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
  const measure::Disturbance::Reading begin = disturbance_();
  if (watched) {
    monitor_->begin();
  }
  work();
  row.disturbance = measure::disturbance_between(begin, disturbance_());
  BlockMonitor::Block seen;
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
  const auto* const own = dynamic_cast<const measure::TimedRegion::OwnClock*>(&region);
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
