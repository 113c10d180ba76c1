// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/optimizer.hpp"

#include <array>

#include "harness/base/parsed_text.hpp"

namespace plumb::rewrite {
namespace {

using Kind = Optimizer::Kind;

constexpr std::array<std::string_view, 4> kNames{"sgd", "adam", "adamw", "lamb"};

}  // namespace

Optimizer standard_optimizer(Optimizer::Kind kind) {
  constexpr double kDecay = 0.01;  // of both that decay the weights themselves
  Optimizer optimizer{.kind = kind};
  optimizer.decay = kind == Kind::kAdamw || kind == Kind::kLamb ? kDecay : 0.0;
  optimizer.epsilon = kind == Kind::kLamb ? 1e-6 : optimizer.epsilon;
  return optimizer;
}

std::vector<std::string> optimizer_names() {
  return {kNames.begin(), kNames.end()};
}

std::string_view to_text(Optimizer::Kind kind) {
  return enum_text(kNames, kind);
}

std::optional<Optimizer::Kind> parse_optimizer(std::string_view text) {
  return parse_enum<Kind>(kNames, text);
}

}  // namespace plumb::rewrite
