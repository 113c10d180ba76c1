// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

namespace plumb::engine {

/// Error for a layer that cannot be executed here, with the reason. It becomes an Outcome in the
/// backend and never leaves it.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace plumb::engine
