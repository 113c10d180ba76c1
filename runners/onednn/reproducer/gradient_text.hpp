// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runners/onednn/reproducer/primitive_description.hpp"

namespace plumb::onednn {

/// C++ text that asks for a gradient's primitive. It consists of the class and of the arguments
/// between engine and attributes, among them the descriptor of the layer itself.
struct GradientText {
  std::string name;
  std::string arguments;
};

/// Writes the text of a gradient. Throws Error{kUser} for a kind that is not covered.
[[nodiscard]] GradientText gradient_text(const PrimitiveDescription& description);

}  // namespace plumb::onednn
