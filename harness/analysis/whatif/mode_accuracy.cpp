// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/whatif/mode_accuracy.hpp"

#include "harness/results/execution_mode.hpp"

namespace plumb::analysis {

std::string accuracy_class(std::string_view execution_mode) {
  if (execution_mode.empty()) {
    return "same";
  }
  const std::string_view type = results::execution_mode_from(execution_mode).other_type();
  return type.empty() ? "same" : std::string(type);
}

}  // namespace plumb::analysis
