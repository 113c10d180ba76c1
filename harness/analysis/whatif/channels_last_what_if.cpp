// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "harness/analysis/whatif/what_if.hpp"

namespace plumb::analysis {
namespace {

/// Answers for a mode with channels last. Its prediction comes with its execution.
WhatIfResult unpredicted(std::string_view mode, std::string_view words) {
  WhatIfResult result;
  result.mode = words;
  result.why_not = fmt::format(
      "rows do not hold the layouts of the library's variants: execute the model in the mode {} "
      "first",
      mode);
  result.prerequisites = {"inputs in the channels-last layout, or one reorder of each input"};
  return result;
}

}  // namespace

WhatIfResult channels_last_what_if(const WhatIfInput& /*input*/) {
  return unpredicted("channels_last",
                     "channels last in every layer that accepts them; the library's own choice "
                     "among these variants");
}

WhatIfResult channels_last_f16_what_if(const WhatIfInput& input) {
  WhatIfResult result = unpredicted("channels_last+f16",
                                    "f16 tensors, accumulation in f32, channels last in every "
                                    "layer that accepts them; the library's own choice");
  if (input.instance.dtype != "f32") {
    result.why_not = fmt::format("the model runs in {} already", input.instance.dtype);
    result.applies = false;
  }
  result.prerequisites.emplace_back("all that f16 needs");
  return result;
}

}  // namespace plumb::analysis
