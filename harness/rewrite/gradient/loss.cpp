// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/loss.hpp"

#include <array>
#include <utility>

namespace plumb::rewrite {
namespace {

constexpr std::array<std::pair<Loss, std::string_view>, 3> kNames{
    {{Loss::kCrossEntropy, "cross_entropy"},
     {Loss::kBinaryCrossEntropy, "binary_cross_entropy"},
     {Loss::kMeanSquaredError, "mean_squared_error"}}};

}  // namespace

std::vector<std::string> loss_names() {
  std::vector<std::string> names;
  names.reserve(kNames.size());
  for (const auto& [loss, name] : kNames) {
    names.emplace_back(name);
  }
  return names;
}

std::string_view to_text(Loss loss) {
  return kNames[static_cast<std::size_t>(loss)].second;
}

std::optional<Loss> parse_loss(std::string_view text) {
  for (const auto& [loss, name] : kNames) {
    if (name == text) {
      return loss;
    }
  }
  return {};
}

}  // namespace plumb::rewrite
