// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/explain/function_finding.hpp"

namespace plumb::analysis {

Seconds FunctionFinding::unexplained() const {
  Seconds rest = change();
  for (const FunctionPart& part : parts) {
    rest -= part.change;
  }
  return rest;
}

std::optional<bool> FunctionFinding::disagrees() const {
  if (!low || !high || !change_low || !change_high || baseline <= Seconds(0.0) ||
      has_other_mode()) {
    return std::nullopt;
  }
  return 1.0 + *change_low / baseline > *high || 1.0 + *change_high / baseline < *low;
}

}  // namespace plumb::analysis
