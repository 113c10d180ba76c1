// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace plumb::cuda {

/// Keeps the leak sanitizer from what is allocated meanwhile: cuDNN unloads its parts as the
/// process ends, and what they then still hold looks lost, by no library that a suppression could
/// name.
struct VendorMemory {
#if defined(__SANITIZE_ADDRESS__)
  __lsan::ScopedDisabler disabler;
#endif
};

}  // namespace plumb::cuda
