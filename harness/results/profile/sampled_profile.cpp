// SPDX-License-Identifier: Apache-2.0
#include "harness/results/profile/sampled_profile.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace plumb::results {
namespace {

constexpr std::array kClocks{std::pair{SamplingClock::kCycles, std::string_view("cycles")},
                             std::pair{SamplingClock::kCpuClock, std::string_view("cpu-clock")},
                             std::pair{SamplingClock::kThread, std::string_view("thread")},
                             std::pair{SamplingClock::kTimer, std::string_view("timer")}};

}  // namespace

std::string_view to_text(SamplingClock clock) {
  return kClocks.at(static_cast<std::size_t>(clock)).second;
}

std::optional<SamplingClock> sampling_clock_from(std::string_view text) {
  const auto* const found = std::find_if(
      kClocks.begin(), kClocks.end(), [&](const auto& each) { return each.second == text; });
  return found == kClocks.end() ? std::nullopt : std::optional(found->first);
}

}  // namespace plumb::results
