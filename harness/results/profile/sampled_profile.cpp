// SPDX-License-Identifier: Apache-2.0
#include "harness/results/profile/sampled_profile.hpp"

#include <array>

#include "harness/base/parsed_text.hpp"

namespace plumb::results {
namespace {

constexpr std::array<std::string_view, 4> kClocks{"cycles", "cpu-clock", "thread", "timer"};

}  // namespace

std::string_view to_text(SamplingClock clock) {
  return enum_text(kClocks, clock);
}

std::optional<SamplingClock> sampling_clock_from(std::string_view text) {
  return parse_enum<SamplingClock>(kClocks, text);
}

}  // namespace plumb::results
