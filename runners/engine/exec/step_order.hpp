// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plumb::engine {

/// List, by step, of the steps that must finish before it begins.
using StepNeeds = std::vector<std::vector<std::size_t>>;

/// Lists all steps so that each comes after the steps that it needs. Throws Error{kInternal} if
/// steps need each other in a circle.
[[nodiscard]] std::vector<std::size_t> in_order(const StepNeeds& needs);

/// Partial order of a schedule's steps, which holds whatever runs side by side.
class StepOrder {
 public:
  /// Computes the order of all pairs of steps. Throws Error{kInternal} if steps need each other in
  /// a circle.
  explicit StepOrder(const StepNeeds& needs);

  /// Returns whether `earlier` always finishes before `later` begins. No step is before itself.
  [[nodiscard]] bool before(std::size_t earlier, std::size_t later) const;

 private:
  std::vector<std::vector<std::uint64_t>> reached_;  // by later step: a bit for each earlier one
};

}  // namespace plumb::engine
