// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace plumb::rewrite {

/// Number that training makes smaller, as a function of a model's result and a target of the same
/// extents.
enum class Loss {
  kCrossEntropy,  ///< −Σ target · log softmax(result), the mean over rows. A softmax that ends
                  ///< the model is part of it
  kMeanSquaredError,  ///< the mean of (result − target)²
};
/// Place of the classes of a target, whose other extents count its rows. Class c of a row is
/// `inner` elements behind class c − 1.
struct ClassAxis {
  std::int64_t outer = 1;
  std::int64_t classes = 1;
  std::int64_t inner = 1;
};

[[nodiscard]] std::string_view to_text(Loss loss);
[[nodiscard]] std::optional<Loss> parse_loss(std::string_view text);

}  // namespace plumb::rewrite
