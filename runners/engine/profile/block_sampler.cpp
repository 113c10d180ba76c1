// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/profile/block_sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "harness/worker/protocol/profile_request.hpp"
#include "runners/engine/profile/mapped_code.hpp"
#include "runners/engine/profile/profiled_program.hpp"

namespace plumb::engine {
namespace {

/// Number that stands for what the thread does between executions.
constexpr std::uint32_t kBetweenExecutions = results::kNoStep - 1;

SamplerOptions options_for(const worker::SampledBlocks& wanted, std::uint64_t seed) {
  SamplerOptions options;
  options.rate = wanted.rate;
  options.seed = seed;
  return options;
}

}  // namespace

void MarkedRegion::run(std::size_t repetitions) {
  const Seconds begin = clock_();
  step_.begin(results::kNoStep);
  for (std::size_t i = 0; i < repetitions; ++i) {
    if (in_order_) {
      program_.execute_marked(0, step_);
    } else {
      program_.enqueue(0);
    }
  }
  if (!in_order_) {
    program_.synchronize();
  }
  step_.begin(kBetweenExecutions);
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  executed_.executions =
      static_cast<std::uint32_t>(std::min<std::size_t>(executed_.executions + repetitions, kMost));
  executed_.sampled += clock_() - begin;
}

BlockSampler::BlockSampler(const worker::SampledBlocks& wanted, std::uint64_t seed)
    : rate_(wanted.rate), sampler_(options_for(wanted, seed), step_) {}

void BlockSampler::begin() {
  if (running_) {
    sampler_.stop();  // the block before it failed
  }
  step_.begin(kBetweenExecutions);
  sampler_.start();
  running_ = true;
}

void BlockSampler::end(const MarkedRegion& region, results::SampledProfile& profile) {
  sampler_.stop();
  running_ = false;
  const auto number = static_cast<std::uint32_t>(profile.blocks.size());
  const std::size_t before = profile.samples.size();
  sampler_.take(number, profile);
  const bool has_room = number < worker::kMaxProfileBlocks &&
                        profile.samples.size() <= worker::kMaxProfileSamples &&
                        region.executed().executions > 0;
  const auto first = profile.samples.begin() + static_cast<std::ptrdiff_t>(before);
  profile.samples.erase(std::remove_if(first,
                                       profile.samples.end(),
                                       [&](const results::AddressSample& sample) {
                                         return !has_room || sample.step == kBetweenExecutions;
                                       }),
                        profile.samples.end());
  if (has_room) {
    profile.blocks.push_back(region.executed());
  }
  profile.lost += sampler_.lost() - lost_;
  lost_ = sampler_.lost();
}

bool BlockSampler::complete(const ReadyModel& ready, results::SampledProfile& profile) const {
  if (profile.blocks.empty()) {
    return false;
  }
  profile.asked_rate = rate_;
  profile.clock = sampler_.clock();
  profile.refused = sampler_.refused();
  profile.threads = sampler_.threads();
  profile.steps = describe_steps(ready);
  profile.mappings = read_mapped_code();
  set_rate(profile);
  return true;
}

std::string BlockSampler::text() const {
  return fmt::format("{:.0f} Hz by {}", rate_, results::to_text(sampler_.clock()));
}

}  // namespace plumb::engine
