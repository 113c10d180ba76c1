// SPDX-License-Identifier: Apache-2.0
// Compares what the ABI header of NVRTC states with NVIDIA's own header.
#include "runners/cuda/exec/compiler_abi.hpp"

#include <gtest/gtest.h>

#include "tests/support/nvidia_required.hpp"
#include "tests/unit/cuda_abi/declared_calls.hpp"

#if __has_include(<nvrtc.h>)
#include <nvrtc.h>

namespace plumb::cuda::abi {

namespace {

/// Entry points of NVRTC as its header declares them.
struct CompilerHeader {
  template <typename Ours>
  static constexpr bool declares(std::string_view name) {
    PLUMB_DECLARED(nvrtcVersion)
    PLUMB_DECLARED(nvrtcGetNumSupportedArchs)
    PLUMB_DECLARED(nvrtcGetSupportedArchs)
    PLUMB_DECLARED(nvrtcCreateProgram)
    PLUMB_DECLARED(nvrtcDestroyProgram)
    PLUMB_DECLARED(nvrtcCompileProgram)
    PLUMB_DECLARED(nvrtcGetProgramLogSize)
    PLUMB_DECLARED(nvrtcGetProgramLog)
    PLUMB_DECLARED(nvrtcGetCUBINSize)
    PLUMB_DECLARED(nvrtcGetCUBIN)
    PLUMB_DECLARED(nvrtcGetPTXSize)
    PLUMB_DECLARED(nvrtcGetPTX)
    PLUMB_DECLARED(nvrtcGetErrorString)
    return false;
  }
};

static_assert(are_declared<CompilerHeader, CompilerCalls>([](auto& calls, auto visit) {
  for_each_compiler_call(calls, visit);
}));

static_assert(same(kCompilerSuccess, NVRTC_SUCCESS));

TEST(CompilerAbi, states_the_headers_numbers) {
  SUCCEED() << "compared when this file was compiled";
}

}  // namespace
}  // namespace plumb::cuda::abi
#else
TEST(CompilerAbi, states_the_headers_numbers) {
  PLUMB_WITHOUT_NVIDIA() << "the header of NVRTC is not here";
}
#endif
