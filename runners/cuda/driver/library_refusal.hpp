// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace plumb::cuda {

/// Refusal by the driver or one of NVIDIA's libraries, with the reason. As a rule the reason is the
/// library's own message.
class LibraryRefusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace plumb::cuda
