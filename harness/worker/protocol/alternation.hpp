// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/measure/disturbance.hpp"
#include "harness/results/attributes.hpp"
#include "harness/worker/protocol/execute_request.hpp"

namespace plumb::worker {

/// Request to execute one model in several shapes, one execution after the other.
struct AlternateRequest {
  std::vector<ExecuteRequest> shapes;  ///< of one model, each with exactly one mode, the same
  std::vector<std::uint32_t> order;    ///< of the executions, as indices of `shapes`
};

/// Times of the executions of an AlternateRequest.
///
/// The first execution of a shape contains what the backend needs for a new shape. A backend that
/// executes all shapes by one program, as inference runtimes do, makes that program before.
struct Alternation {
  bool one_program = false;      ///< for all shapes; else each shape has one, from its first on
  Seconds preparation{};         ///< of the one program; zero: there is none
  std::vector<Seconds> seconds;  ///< of each execution, in the order of the request
  measure::Disturbance disturbance{};  ///< of all executions together
  results::Readings readings{};        ///< beside them: kHostPace
};

/// Words with which a worker begins to refuse outputs that differ from those of the shape alone.
inline constexpr std::string_view kWrongAlternation = "wrong result";

/// Limits of an AlternateRequest.
inline constexpr std::size_t kMaxAlternatedShapes = 16;
inline constexpr std::size_t kMaxAlternatedExecutions = 100'000;

}  // namespace plumb::worker
