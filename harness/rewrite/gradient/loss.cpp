// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/loss.hpp"

namespace plumb::rewrite {

std::string_view to_text(Loss loss) {
  return loss == Loss::kCrossEntropy ? "cross_entropy" : "mean_squared_error";
}

std::optional<Loss> parse_loss(std::string_view text) {
  for (const Loss loss : {Loss::kCrossEntropy, Loss::kMeanSquaredError}) {
    if (to_text(loss) == text) {
      return loss;
    }
  }
  return {};
}

}  // namespace plumb::rewrite
