// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/whatif/what_if_rows.hpp"

namespace plumb::analysis {

WhatIfResult channels_last_what_if(const WhatIfInput& /*input*/) {
  WhatIfResult result;
  result.mode =
      "channels last in every layer that accepts them; the library's own choice among these "
      "variants";
  result.why_not =
      "rows do not hold the layouts of the library's variants: execute the model in the mode "
      "channels_last first";
  result.prerequisites = {"inputs in the channels-last layout, or one reorder of each input"};
  return result;
}

}  // namespace plumb::analysis
