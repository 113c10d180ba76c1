// SPDX-License-Identifier: Apache-2.0
#include "harness/results/run.hpp"

#include <array>

#include "harness/base/parsed_text.hpp"

namespace plumb::results {
namespace {

constexpr std::array<std::string_view, 3> kNames{"running", "finished", "interrupted"};

}  // namespace

std::string_view to_text(RunState state) {
  return enum_text(kNames, state);
}

std::optional<RunState> parse_run_state(std::string_view text) {
  return parse_enum<RunState>(kNames, text);
}

}  // namespace plumb::results
