// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/sampler.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace plumb::measure {
namespace {

constexpr double kStillFaster =
    0.98;                         // a batch this much below the fastest so far is still warming up
constexpr int kQuietBatches = 3;  // so many batches without getting faster end the warm-up
constexpr double kOverrun = 4.0;  // budgets after which even too few samples must do
constexpr double kMinShare =
    0.1;  // of the budget, before which no interval is believed: drift takes longer
constexpr double kCheckGrowth = 1.25;  // the interval is looked at again when n has grown so much

struct Batch {
  Seconds whole{};
  Seconds each{};
  std::size_t repetitions = 1;
  bool own_clock = false;
};

Batch run_batch(TimedRegion& region, std::size_t repetitions, const Clock& clock) {
  region.before_sample();
  if (auto* const own = dynamic_cast<TimedRegion::OwnClock*>(&region);
      own != nullptr && own->has_clock()) {
    const TimedRegion::OwnClock::Sample sample = own->own_sample();
    return {sample.each * static_cast<double>(sample.repetitions),
            sample.each,
            sample.repetitions,
            true};
  }
  const Seconds begin = clock();
  region.run(repetitions);
  const Seconds whole = clock() - begin;
  return {whole, whole / static_cast<double>(repetitions), repetitions, false};
}

std::size_t more_repetitions(const SamplingPlan& plan, std::size_t now, const Batch& batch) {
  // At most tenfold a step, because the first executions are slow and would mislead a larger one.
  double wanted = static_cast<double>(now) * 10.0;
  if (batch.each > Seconds(0.0)) {
    wanted = std::min(wanted, std::ceil(1.1 * (plan.sample_at_least / batch.each)));
  }
  const auto most = static_cast<double>(std::max<std::size_t>(plan.repetitions_at_most, 1));
  return std::max(now, static_cast<std::size_t>(std::min(wanted, most)));
}

/// Returns the repetitions that a sample needs, once executions have stopped getting faster.
std::size_t warm_up(TimedRegion& region, const SamplingPlan& plan, const Clock& clock) {
  std::size_t repetitions = 1;
  if (plan.warm_up_at_most <= Seconds(0.0)) {
    return repetitions;
  }
  const Seconds begin = clock();
  Seconds fastest{std::numeric_limits<double>::infinity()};
  int quiet = 0;
  while (true) {
    const Batch batch = run_batch(region, repetitions, clock);
    quiet = batch.each < fastest * kStillFaster ? 0 : quiet + 1;
    fastest = std::min(fastest, batch.each);
    const std::size_t grown = !batch.own_clock && batch.whole < plan.sample_at_least
                                  ? more_repetitions(plan, repetitions, batch)
                                  : repetitions;
    const bool grew = grown > repetitions;
    repetitions = grown;
    const Seconds spent = clock() - begin;
    const bool settled = !grew && quiet >= kQuietBatches && spent >= plan.warm_up_at_least;
    if (settled || spent >= plan.warm_up_at_most) {
      return repetitions;
    }
  }
}

bool is_tight(const SampleSummary& summary, double limit) {
  const bool same = summary.interval.low == summary.interval.high;
  const auto width = relative_half_width(summary);
  return median_interval_rank(summary.n).has_value() && summary.min_has_company &&
         (same || (width.has_value() && *width <= limit));
}

}  // namespace

Clock steady_clock() {
  return [] { return Seconds(std::chrono::steady_clock::now().time_since_epoch()); };
}

Samples sample(TimedRegion& region, const SamplingPlan& plan, const Clock& clock) {
  Samples result;
  const Seconds begin = clock();
  result.repetitions = warm_up(region, plan, clock);

  const std::size_t least = std::max<std::size_t>(plan.samples_at_least, 1);
  const std::size_t most = std::max(plan.samples_at_most, least);
  result.seconds.reserve(std::min<std::size_t>(most, 4096));
  Seconds timed{};
  std::size_t next_check = std::max<std::size_t>(least, 6);
  while (true) {
    const Batch batch = run_batch(region, result.repetitions, clock);
    result.seconds.push_back(batch.each);
    result.repetitions = batch.repetitions;
    timed += batch.whole;
    const std::size_t n = result.seconds.size();
    const bool last =
        n >= most || (n >= least && timed >= plan.budget) || timed >= plan.budget * kOverrun;
    if (last || n >= next_check) {
      // Checked rarely, because sorting at every sample would take longer than a short sample.
      result.converged = timed >= plan.budget * kMinShare &&
                         is_tight(summarize(result.seconds), plan.relative_half_width);
      next_check = static_cast<std::size_t>(std::ceil(static_cast<double>(n) * kCheckGrowth));
    }
    if (last || result.converged) {
      break;
    }
  }
  result.elapsed = clock() - begin;
  return result;
}

TimerFacts measure_timer(const Clock& clock) {
  constexpr int kReads = 2000;
  TimerFacts facts;
  const Seconds begin = clock();
  Seconds previous = begin;
  for (int i = 0; i < kReads; ++i) {
    const Seconds now = clock();
    const Seconds step = now - previous;
    if (step > Seconds(0.0) && (facts.tick == Seconds(0.0) || step < facts.tick)) {
      facts.tick = step;
    }
    previous = now;
  }
  facts.read = (previous - begin) / kReads;
  return facts;
}

}  // namespace plumb::measure
