// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdint>

#include "harness/base/units.hpp"

namespace plumb::onednn {

/// Returns how much memory the machine has.
inline Bytes physical_memory() {
  return Bytes{static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE)};
}

}  // namespace plumb::onednn
