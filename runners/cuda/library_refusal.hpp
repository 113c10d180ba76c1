// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace plumb::cuda {

/// Says in their own words what the driver or one of NVIDIA's libraries refused.
class LibraryRefusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace plumb::cuda
