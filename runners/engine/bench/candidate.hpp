// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "harness/results/measurement.hpp"
#include "harness/worker/protocol/backend.hpp"

namespace plumb::engine {

/// One variant of a key on its way through verification, race and timing.
struct Candidate {
  worker::Variant variant;
  std::unique_ptr<worker::Program> program;  ///< null: refused, or dropped to save memory
  worker::ProgramFacts facts;
  results::Measurement row;      ///< values that all rows of this variant share
  Seconds bind{};                ///< time to bind slot 0
  Seconds execution{};           ///< best estimate so far
  std::optional<Seconds> raced;  ///< median of its race, without the harness overhead
  std::size_t slots = 0;         ///< slots bound so far
  bool verified = false;
};

/// Runs `step` and turns an exception into an outcome: out of memory with the limit of the process,
/// unsupported, or crashed with the text. Rethrows Error{kInternal}.
void guarded(results::Outcome& outcome, const std::function<void()>& step);
inline void guarded(results::Measurement& row, const std::function<void()>& step) {
  guarded(row.outcome, step);
}

/// Adds how much a program takes, if that is known, to the reason of an outcome of too little
/// memory.
void add_needed_memory(results::Outcome& outcome, Bytes needed);

}  // namespace plumb::engine
