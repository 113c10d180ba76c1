// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/optimizer.hpp"

#include <array>
#include <utility>

namespace plumb::rewrite {
namespace {

using Kind = Optimizer::Kind;

constexpr std::array<std::pair<Kind, std::string_view>, 4> kNames{
    {{Kind::kSgd, "sgd"}, {Kind::kAdam, "adam"}, {Kind::kAdamw, "adamw"}, {Kind::kLamb, "lamb"}}};

}  // namespace

Optimizer standard_optimizer(Optimizer::Kind kind) {
  constexpr double kDecay = 0.01;  // of both that decay the weights themselves
  Optimizer optimizer{.kind = kind};
  optimizer.decay = kind == Kind::kAdamw || kind == Kind::kLamb ? kDecay : 0.0;
  optimizer.epsilon = kind == Kind::kLamb ? 1e-6 : optimizer.epsilon;
  return optimizer;
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const auto& [kind, name] : kNames) {
    names.emplace_back(name);
  }
  return names;
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
