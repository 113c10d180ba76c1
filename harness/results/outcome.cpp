// SPDX-License-Identifier: Apache-2.0
#include "harness/results/outcome.hpp"

#include <array>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::results {
namespace {

constexpr std::array<std::pair<Outcome::Kind, std::string_view>, 8> kNames{{
    {Outcome::Kind::kOk, "ok"},
    {Outcome::Kind::kUnsupported, "unsupported"},
    {Outcome::Kind::kOutOfMemory, "out_of_memory"},
    {Outcome::Kind::kWrongResult, "wrong_result"},
    {Outcome::Kind::kTimedOut, "timed_out"},
    {Outcome::Kind::kCrashed, "crashed"},
    {Outcome::Kind::kUnstable, "unstable"},
    {Outcome::Kind::kSkipped, "skipped"},
}};

}  // namespace

std::string_view to_text(Outcome::Kind kind) {
  for (const auto& [value, name] : kNames) {
    if (value == kind) {
      return name;
    }
  }
  PLUMB_CHECK(false && "an outcome kind without a name");
}

std::optional<Outcome::Kind> parse_outcome_kind(std::string_view text) {
  for (const auto& [value, name] : kNames) {
    if (name == text) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace plumb::results
