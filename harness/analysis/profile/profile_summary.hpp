// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "harness/analysis/profile/profile_shares.hpp"
#include "harness/base/units.hpp"
#include "harness/results/profile/named_profile.hpp"

namespace plumb::analysis {

/// What a profile says about itself.
struct ProfileSummary {
  std::uint64_t samples = 0;
  double in_steps = 0.0;         ///< share of the samples that have a step
  double in_functions = 0.0;     ///< share of the samples whose function has a name
  std::uint64_t executions = 0;  ///< with samples
  Seconds execution{};           ///< mean time, without samples if any were so
  /// Relative, of sampling: median over pairs of blocks. Absent: all blocks were sampled.
  std::optional<double> cost;
  std::optional<NumberInterval> cost_interval;  ///< absent: too few pairs
  std::size_t pairs = 0;
};

/// Summarises a profile. Pure.
[[nodiscard]] ProfileSummary summarize_profile(const results::NamedProfile& profile);

/// Returns whether all blocks of a profile were sampled, so that its times include what that costs.
[[nodiscard]] bool is_always_sampled(const results::NamedProfile& profile);

/// Returns a function's name for people: "[IMAGE]" if it has none.
[[nodiscard]] std::string name_of(const results::ProfiledFunction& function);
/// Returns the name of a cell's step: "(between steps)" if it has none.
[[nodiscard]] std::string step_name(const results::NamedProfile& profile, std::uint32_t step);

}  // namespace plumb::analysis
