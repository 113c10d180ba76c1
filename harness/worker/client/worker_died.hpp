// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/results/outcome.hpp"

namespace plumb::worker {

/// Error of a worker process that ended, hung or broke the protocol during a request. The row in
/// progress gets its outcome.
class WorkerDied : public std::runtime_error {
 public:
  explicit WorkerDied(results::Outcome outcome)
      : std::runtime_error(outcome.reason), outcome_(std::move(outcome)) {}
  [[nodiscard]] const results::Outcome& outcome() const { return outcome_; }

 private:
  results::Outcome outcome_;  ///< kCrashed ("signal 11 (SIGSEGV)"), kTimedOut or kSkipped
};

/// Makes an Error{kEnvironment} of a worker's death, for what has no row to say it in. `what` is
/// what the worker was doing: "calibrating".
[[nodiscard]] Error lost_worker(const WorkerDied& death, const std::string& what);

}  // namespace plumb::worker
