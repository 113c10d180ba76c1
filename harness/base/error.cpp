// SPDX-License-Identifier: Apache-2.0
#include "harness/base/error.hpp"

#include <fmt/core.h>

namespace plumb {

void fail_check(const char* condition, const char* file, int line) {
  throw Error(
      Error::Kind::kInternal,
      fmt::format("check failed: {} ({}:{}); please report this bug", condition, file, line));
}

}  // namespace plumb
