// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumb::rewrite {

/// Rule by which a step of training changes weights, with its numbers.
struct Optimizer {
  enum class Kind {
    kSgd,    ///< gradient descent, with momentum where that is not 0
    kAdam,   ///< Kingma & Ba, 2015; the decay is added to the gradient
    kAdamw,  ///< the same with the decay of the weights themselves (Loshchilov & Hutter, 2019)
    kLamb,   ///< the same with a rate for each tensor (You et al., 2020)
  };
  Kind kind = Kind::kSgd;
  double rate = 0.001;
  double momentum = 0.9;  ///< of kSgd
  double decay = 0.0;
  double beta1 = 0.9;  ///< of the others
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

/// Returns the numbers with which suites train: those that PyTorch takes by itself, but for SGD a
/// rate of 0.001 with a momentum of 0.9. For LAMB, which PyTorch has not, they are the paper's: ε
/// is 1e-6, and the decay 0.01.
[[nodiscard]] Optimizer standard_optimizer(Optimizer::Kind kind);

/// Lists the names that parse_optimizer() knows.
[[nodiscard]] std::vector<std::string> optimizer_names();

[[nodiscard]] std::string_view to_text(Optimizer::Kind kind);
[[nodiscard]] std::optional<Optimizer::Kind> parse_optimizer(std::string_view text);

}  // namespace plumb::rewrite
