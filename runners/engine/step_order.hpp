// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plumb {

/// Names the steps that must have finished before each step begins.
using StepNeeds = std::vector<std::vector<std::size_t>>;

/// Lists all steps so that each stands behind those it needs. Throws Error{kInternal} if steps need
/// each other in a circle.
[[nodiscard]] std::vector<std::size_t> in_order(const StepNeeds& needs);

/// Partial order of a schedule's steps: which step is before which, whatever runs beside it.
class StepOrder {
 public:
  /// Throws Error{kInternal} if steps need each other in a circle.
  explicit StepOrder(const StepNeeds& needs);

  /// Returns whether `earlier` has always finished when `later` begins. No step is before itself.
  [[nodiscard]] bool before(std::size_t earlier, std::size_t later) const;

 private:
  std::vector<std::vector<std::uint64_t>> reached_;  // by later step: a bit for each earlier one
};

}  // namespace plumb
