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

}  // namespace plumb::analysis
