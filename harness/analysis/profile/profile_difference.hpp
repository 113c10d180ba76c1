// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/profile/profile_shares.hpp"
#include "harness/base/units.hpp"
#include "harness/results/profile/named_profile.hpp"

namespace plumb::analysis {

/// Difference between two profiles of one model.
struct ProfileDifference {
  /// Change of the time that one function takes in an execution.
  struct Function {
    results::NamedProfile::CodeNames::Function function;
    Seconds baseline{};
    Seconds candidate{};
    std::optional<GroupedSamples::Share::Interval>
        interval;              ///< of the change, in seconds; absent: too few blocks
    bool in_baseline = false;  ///< it has samples there
    bool in_candidate = false;
    std::string step;  ///< whose part of the change is largest

    [[nodiscard]] Seconds change() const { return candidate - baseline; }
    /// Returns whether the interval excludes zero.
    [[nodiscard]] bool is_certain() const {
      return interval && (interval->low > 0.0 || interval->high < 0.0);
    }
  };

  Seconds baseline{};  ///< mean time of an execution
  Seconds candidate{};
  std::optional<GroupedSamples::Share::Interval>
      interval;                     ///< of the change of an execution, in seconds
  std::vector<Function> functions;  ///< largest change first

  [[nodiscard]] Seconds change() const { return candidate - baseline; }
  /// Returns the part of the change that no certain change of a function explains.
  [[nodiscard]] Seconds unexplained() const;
};

/// Returns a function as two versions of a library have it: without a build-id, the version of its
/// library, and the number that some versions add to each kernel.
[[nodiscard]] results::NamedProfile::CodeNames::Function comparable_function(
    results::NamedProfile::CodeNames::Function function);

/// Ranks the functions of two profiles by the change of their time in an execution.
///
/// A function's time is its share of the samples times the time of an execution without samples.
/// Intervals are of 95%, by a bootstrap over both profiles. They know how processes differ only
/// where both are of enough processes or runs (drawn_unit()). Libraries are the same if their names
/// are up to ".so". Throws Error{kRefused} for profiles of different models. Pure.
[[nodiscard]] ProfileDifference compute_profile_difference(const results::NamedProfile& baseline,
                                                           const results::NamedProfile& candidate,
                                                           std::uint64_t seed = 1);

}  // namespace plumb::analysis
