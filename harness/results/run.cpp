// SPDX-License-Identifier: Apache-2.0
#include "harness/results/run.hpp"

#include <array>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::results {
namespace {

constexpr std::array<std::pair<RunState, std::string_view>, 3> kNames{{
    {RunState::kRunning, "running"},
    {RunState::kFinished, "finished"},
    {RunState::kInterrupted, "interrupted"},
}};

}  // namespace

std::string_view to_text(RunState state) {
  for (const auto& [value, name] : kNames) {
    if (value == state) {
      return name;
    }
  }
  PLUMB_CHECK(false && "a run state without a name");
}

std::optional<RunState> parse_run_state(std::string_view text) {
  for (const auto& [value, name] : kNames) {
    if (name == text) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace plumb::results
