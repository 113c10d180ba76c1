// SPDX-License-Identifier: Apache-2.0
#include "harness/results/run.hpp"

#include <array>
#include <charconv>

#include "harness/base/digest.hpp"
#include "harness/base/parsed_text.hpp"

namespace plumb::results {

std::string Environment::id() const {
  std::string lines;
  for (const auto& [name, value] : identity) {
    lines += name;
    lines += '=';
    lines += value;
    lines += '\n';
  }
  return sha256(lines).substr(0, 16);
}

int threads_of(const Environment& environment) {
  const std::string text = fact_of(environment.identity, "threads");
  int threads = 1;
  std::from_chars(text.data(), text.data() + text.size(), threads);
  return threads;
}

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
