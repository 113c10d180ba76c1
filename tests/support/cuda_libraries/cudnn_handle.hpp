// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/cuda_libraries/library_memory.hpp"

namespace plumb::stand_in {

/// Handle of cuDNN's: its stream, and memory that it holds until it is destroyed.
struct DnnHandle {
  LibraryMemory memory;
  void* stream = nullptr;
};

}  // namespace plumb::stand_in
