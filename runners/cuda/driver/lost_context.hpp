// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>

namespace plumb::cuda {

/// Statuses after which a process can do nothing more on its GPU, as cuda.h describes them: the
/// context is corrupt or gone, or the GPU has to be reset. What lies between them is a refusal.
inline constexpr std::array kLosingStatuses{
    214,  // ECC_UNCORRECTABLE
    220,  // NVLINK_UNCORRECTABLE
    226,  // CONTAINED
    700,  // ILLEGAL_ADDRESS
    702,  // LAUNCH_TIMEOUT
    709,  // CONTEXT_IS_DESTROYED
    710,  // ASSERT
    714,  // HARDWARE_STACK_ERROR
    715,  // ILLEGAL_INSTRUCTION
    716,  // MISALIGNED_ADDRESS
    717,  // INVALID_ADDRESS_SPACE
    718,  // INVALID_PC
    719,  // LAUNCH_FAILED
    721,  // TENSOR_MEMORY_LEAK
    911,  // EXTERNAL_DEVICE
    999,  // UNKNOWN
};

/// Returns whether a status of the driver means that the context is lost.
[[nodiscard]] constexpr bool loses_context(int status) {
  return std::find(kLosingStatuses.begin(), kLosingStatuses.end(), status) != kLosingStatuses.end();
}

/// Statuses by which the driver says that it cannot do what was asked, now or ever, on this GPU.
inline constexpr std::array kRefusingStatuses{
    209,  // NO_BINARY_FOR_GPU
    222,  // UNSUPPORTED_PTX_VERSION
    701,  // LAUNCH_OUT_OF_RESOURCES
    801,  // NOT_SUPPORTED
};

/// Returns whether a status of the driver says that something is not supported.
[[nodiscard]] constexpr bool says_unsupported(int status) {
  return std::find(kRefusingStatuses.begin(), kRefusingStatuses.end(), status) !=
         kRefusingStatuses.end();
}

}  // namespace plumb::cuda
