// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "tests/support/cuda_driver/operation.hpp"

namespace plumb::stand_in {

/// Variables of a kernel's thread, laid out as the prelude of the compiler's stand-in has them.
struct Places {
  std::array<unsigned, 3> thread;
  std::array<unsigned, 3> block;
  std::array<unsigned, 3> block_extents;
  std::array<unsigned, 3> grid_extents;
};

/// Runs a kernel to its end in the calling thread, block after block. Threads of a block that wait
/// for each other are fibres. Notes every access to the device's memory in `log`. Returns
/// kIllegalAddress at the first access outside live memory, and kLaunchFailed where some threads of
/// a block wait at a barrier and others have ended.
[[nodiscard]] int run_kernel(const Launch& launch, AccessLog& log);

/// Waits until all threads of the block are here, as __syncthreads() does.
void wait_for_block();

/// Notes an access of the calling thread's kernel, if one runs, and ends it at a bad address.
void note_access(const void* address, std::size_t bytes, bool write);

/// Notes what a library's call reads or writes as a whole. Returns kIllegalAddress unless it all
/// lies in one live allocation.
[[nodiscard]] int note_range(AccessLog& log, std::uint64_t address, std::size_t bytes, bool write);

}  // namespace plumb::stand_in
