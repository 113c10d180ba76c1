// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace plumb::model {

/// Error in a layer specification, and the field of its key that has it.
struct SpecProblem {
  std::string field;  ///< "in", "out", "epilogue" or the attribute's name
  std::string text;
};

}  // namespace plumb::model
