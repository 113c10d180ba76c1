// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "harness/results/measurement.hpp"
#include "harness/worker/backend.hpp"

namespace plumb {

/// One variant of a key on its way through verification, race and timing.
struct Candidate {
  Variant variant;
  std::unique_ptr<Program> program;  ///< null: refused, or dropped to save memory
  ProgramFacts facts;
  Measurement row;               ///< what all rows of this variant share
  Seconds bind{};                ///< of slot 0
  Seconds execution{};           ///< best guess so far
  std::optional<Seconds> raced;  ///< median of its race, floor-corrected
  std::size_t slots = 0;         ///< bound so far
  bool verified = false;
};

/// Runs `step` and turns what it throws into the outcome: out of memory, unsupported, or
/// crashed with the text. Passes Error{kInternal} on.
void guarded(Outcome& outcome, const std::function<void()>& step);
inline void guarded(Measurement& row, const std::function<void()>& step) {
  guarded(row.outcome, step);
}

}  // namespace plumb
