// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/base/error.hpp"

namespace plumb::store {

/// Error of a store whose server cannot be reached, or went away. The store that threw it must be
/// opened again. A transaction that was being committed may have been stored or not.
class ServerAway : public Error {
 public:
  explicit ServerAway(const std::string& text) : Error(Kind::kTryAgain, text) {}
};

}  // namespace plumb::store
