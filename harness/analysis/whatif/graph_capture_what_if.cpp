// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/whatif/what_if.hpp"

namespace plumb::analysis {

WhatIfResult graph_capture_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode = "a device's launches as one captured graph; against launch after launch";
  result.prerequisites = {"a device with launches, and shapes that stay as they are"};
  if (!input.on_device.value_or(true)) {
    result.applies = false;
    result.why_not = "the run is of a processor, which has no launches to capture";
    return result;
  }
  result.why_not =
      "times of layers leave out what a launch costs: execute the model in the modes eager and "
      "captured first";
  return result;
}

}  // namespace plumb::analysis
