// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/model/layer_key.hpp"

namespace plumb {

/// Asks a worker what its library would choose for a layer on a device that need not be there.
struct PreviewRequest {
  LayerKey key;
  std::string device;  ///< the device's properties as the library writes them: JSON
};

}  // namespace plumb
