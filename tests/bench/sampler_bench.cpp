// SPDX-License-Identifier: Apache-2.0
//
// Prints what the sampler of workers finds of a planted hot spot, and what it costs.
//
// Two functions compute in turns. The share of the first one's time is known from a clock around
// each call, and compared with its share of the samples, by their addresses and by their steps.
// Pairs of blocks with and without the sampler give the cost (median, 95% interval). Exits with 1
// if a share is wrong by more than two points, or if no clock of this machine can sample.
#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/measure/sample_summary.hpp"
#include "runners/engine/profile/address_sampler.hpp"

namespace {

using namespace plumb;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kFunctionBytes = 256;  // more than each function has
constexpr double kMaxShareError = 0.02;
constexpr int kPairs = 100;
constexpr int kTurns = 10;                   // of both functions in a block
constexpr std::uint64_t kLinks = 4'000'000;  // of both functions in a turn, a few milliseconds

/// Computes without touching memory. Each call site gets a copy of the code.
[[gnu::always_inline]] inline void compute(std::uint64_t links) {
  std::uint64_t value = links;
  for (std::uint64_t i = 0; i < links; ++i) {
    value = value * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(value));
  }
}

[[gnu::noinline, gnu::aligned(kFunctionBytes)]] void hot_spot(std::uint64_t links) {
  compute(links);
}
[[gnu::noinline, gnu::aligned(kFunctionBytes)]] void rest(std::uint64_t links) {
  asm volatile("# else the compiler makes one function of both");
  compute(links);
}

/// Times of one block.
struct BlockTime {
  Seconds hot{};
  Seconds whole{};
};

BlockTime run_block(double share, worker::StepMark& step) {
  BlockTime time;
  const auto begin = Clock::now();
  for (int turn = 0; turn < kTurns; ++turn) {
    const auto start = Clock::now();
    step.begin(0);
    hot_spot(static_cast<std::uint64_t>(share * kLinks));
    step.begin(1);
    const auto end = Clock::now();
    rest(static_cast<std::uint64_t>((1.0 - share) * kLinks));
    time.hot += end - start;
  }
  time.whole = Clock::now() - begin;
  return time;
}

bool is_in_hot_spot(std::uint64_t address) {
  const auto begin = reinterpret_cast<std::uint64_t>(&hot_spot);
  return address >= begin && address < begin + kFunctionBytes;
}

/// Prints what a clock finds at a rate. Returns whether the hot spot has its share of the samples.
bool measure_clock(results::SampledProfile::Clock clock, double rate, double share) {
  worker::StepMark step;
  engine::SampleSource::Options options;
  options.rate = rate;
  options.clocks = {clock};
  engine::AddressSampler sampler(options, step);
  results::SampledProfile profile;
  std::vector<Seconds> ratios;
  BlockTime sampled;
  run_block(share, step);
  for (int pair = 0; pair < kPairs; ++pair) {
    Seconds without{};
    if (pair % 2 == 1) {
      without = run_block(share, step).whole;
    }
    sampler.start();
    const BlockTime block = run_block(share, step);
    sampler.stop();
    sampler.take(0, profile);
    sampled.hot += block.hot;
    sampled.whole += block.whole;
    if (pair % 2 == 0) {
      without = run_block(share, step).whole;
    }
    ratios.emplace_back(block.whole / without);
  }
  double by_address = 0.0;
  double by_step = 0.0;
  double all = 0.0;
  for (const results::SampledProfile::Sample& sample : profile.samples) {
    if (sample.thread == 0) {
      all += 1.0;
      by_address += is_in_hot_spot(sample.address) ? 1.0 : 0.0;
      by_step += sample.step == 0 ? 1.0 : 0.0;
    }
  }
  const measure::SampleSummary cost = measure::summarize(ratios);
  const double planted = sampled.hot / sampled.whole;
  fmt::print(
      "{} at {:.0f} Hz: {:.0f} Hz, {:.0f} samples; planted {:.2f} %, found {:.2f} % by address and "
      "{:.2f} % by step; cost {:+.2f} % ({:+.2f} to {:+.2f})\n",
      results::to_text(clock),
      rate,
      all / sampled.whole.count(),
      all,
      100.0 * planted,
      100.0 * by_address / all,
      100.0 * by_step / all,
      100.0 * (cost.median.count() - 1.0),
      100.0 * (cost.interval.low.count() - 1.0),
      100.0 * (cost.interval.high.count() - 1.0));
  return all > 0.0 && std::abs(by_address / all - planted) <= kMaxShareError &&
         std::abs(by_step / all - planted) <= kMaxShareError;
}

}  // namespace

int main() {
  bool right = true;
  std::size_t clocks = 0;
  for (const results::SampledProfile::Clock clock : engine::SampleSource::Options().clocks) {
    for (const double rate : {1000.0, 10'000.0}) {
      try {
        right = measure_clock(clock, rate, rate < 5000.0 ? 0.3 : 0.1) && right;
        ++clocks;
      } catch (const Error& error) {
        fmt::print("{}\n", error.what());
        break;
      }
    }
  }
  return right && clocks > 0 ? 0 : 1;
}
