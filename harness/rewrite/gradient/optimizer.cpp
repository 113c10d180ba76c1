// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/optimizer.hpp"

#include <array>
#include <utility>

namespace plumb::rewrite {
namespace {

using Kind = Optimizer::Kind;

constexpr std::array<std::pair<Kind, std::string_view>, 3> kNames{
    {{Kind::kSgd, "sgd"}, {Kind::kAdam, "adam"}, {Kind::kAdamw, "adamw"}}};

}  // namespace

Optimizer standard_optimizer(Optimizer::Kind kind) {
  constexpr double kDecayOfAdamw = 0.01;
  return {.kind = kind, .decay = kind == Kind::kAdamw ? kDecayOfAdamw : 0.0};
}

std::string_view to_text(Optimizer::Kind kind) {
  return kNames[static_cast<std::size_t>(kind)].second;
}

std::optional<Optimizer::Kind> parse_optimizer(std::string_view text) {
  for (const auto& [kind, name] : kNames) {
    if (name == text) {
      return kind;
    }
  }
  return {};
}

}  // namespace plumb::rewrite
