// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/model/key/layer_key.hpp"

namespace plumb::worker {

/// Request for what a library would choose for a layer on a device that need not be present.
struct PreviewRequest {
  model::LayerKey key;
  std::string device;  ///< the device's properties as the library writes them: JSON
};

}  // namespace plumb::worker
