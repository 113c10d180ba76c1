// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/whatif/what_if_rows.hpp"

namespace plumb {

WhatIfResult channels_last_what_if(const WhatIfInput& /*input*/) {
  WhatIfResult result;
  result.mode =
      "channels last wherever a layer can take them so; the library's own choice of those";
  result.why_not =
      "rows do not say which layouts the library's variants take: predicted once the model was "
      "executed in the mode channels_last";
  result.prerequisites = {"inputs with their channels last, or one reorder of each"};
  return result;
}

}  // namespace plumb
