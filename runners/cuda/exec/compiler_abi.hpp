// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// Part of NVRTC's binary interface that the worker uses, as its documentation names it. It is the
/// same in CUDA 12 and 13.
namespace plumb::cuda::abi {

using CompilerProgram = void*;  ///< nvrtcProgram

inline constexpr int kCompilerSuccess = 0;

/// Entry points of NVRTC, found by name by KernelLibrary::Compiler.
struct CompilerCalls {
  int (*version)(int*, int*) = nullptr;
  int (*count_architectures)(int*) = nullptr;
  int (*list_architectures)(int*) = nullptr;
  int (*create)(CompilerProgram*,
                const char* source,
                const char* name,
                int headers,
                const char* const*,
                const char* const*) = nullptr;
  int (*destroy)(CompilerProgram*) = nullptr;
  int (*compile)(CompilerProgram, int options, const char* const*) = nullptr;
  int (*log_size)(CompilerProgram, std::size_t*) = nullptr;
  int (*log)(CompilerProgram, char*) = nullptr;
  int (*cubin_size)(CompilerProgram, std::size_t*) = nullptr;
  int (*cubin)(CompilerProgram, char*) = nullptr;
  int (*ptx_size)(CompilerProgram, std::size_t*) = nullptr;
  int (*ptx)(CompilerProgram, char*) = nullptr;
  const char* (*error_text)(int) = nullptr;
};

/// Calls `visit(member, "nvrtcName")` for every entry point.
template <typename Calls, typename Visit>
constexpr void for_each_compiler_call(Calls& calls, Visit visit) {
  visit(calls.version, "nvrtcVersion");
  visit(calls.count_architectures, "nvrtcGetNumSupportedArchs");
  visit(calls.list_architectures, "nvrtcGetSupportedArchs");
  visit(calls.create, "nvrtcCreateProgram");
  visit(calls.destroy, "nvrtcDestroyProgram");
  visit(calls.compile, "nvrtcCompileProgram");
  visit(calls.log_size, "nvrtcGetProgramLogSize");
  visit(calls.log, "nvrtcGetProgramLog");
  visit(calls.cubin_size, "nvrtcGetCUBINSize");
  visit(calls.cubin, "nvrtcGetCUBIN");
  visit(calls.ptx_size, "nvrtcGetPTXSize");
  visit(calls.ptx, "nvrtcGetPTX");
  visit(calls.error_text, "nvrtcGetErrorString");
}

}  // namespace plumb::cuda::abi
