// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runners/cuda/driver/driver_abi.hpp"
#include "tests/support/cuda_driver/machine.hpp"

namespace plumb::stand_in {
namespace abi = plumb::cuda::abi;
}

// What every file of entry points needs. The numbers and structures are those of the backend, which
// tests compare with the toolkit's headers.
#define PLUMB_EXPORT extern "C" __attribute__((visibility("default")))

/// Begins an entry point: counts the call and returns early if it cannot be tried.
#define PLUMB_CALL(name)           \
  Call call(name);                 \
  if (call.status() != kSuccess) { \
    return call.status();          \
  }                                \
  Machine& device = machine()

/// Begins an entry point that a capture of the calling thread forbids.
#define PLUMB_UNSAFE_CALL(name)                                             \
  PLUMB_CALL(name);                                                         \
  if (const int status = device.forbidden_while_capturing(); status != 0) { \
    return status;                                                          \
  }
