// SPDX-License-Identifier: Apache-2.0
#include "harness/results/outcome.hpp"

#include <array>

#include "harness/base/parsed_text.hpp"

namespace plumb::results {
namespace {

constexpr std::array<std::string_view, 8> kNames{"ok",
                                                 "unsupported",
                                                 "out_of_memory",
                                                 "wrong_result",
                                                 "timed_out",
                                                 "crashed",
                                                 "unstable",
                                                 "skipped"};

}  // namespace

std::string_view to_text(Outcome::Kind kind) {
  return enum_text(kNames, kind);
}

std::optional<Outcome::Kind> parse_outcome_kind(std::string_view text) {
  return parse_enum<Outcome::Kind>(kNames, text);
}

}  // namespace plumb::results
