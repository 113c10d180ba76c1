// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace plumb {

/// Describes one set of library versions a worker is started with (`stack.toml`).
///
/// A worker sees this and nothing else that tunes a library: OMP_*, GOMP_*, KMP_*, MKL_*, ONEDNN_*,
/// DNNL_*, CUDNN_*, CUBLAS*_* and NVIDIA_TF32_OVERRIDE of the surrounding environment are dropped,
/// so that a stack means the same on every shell.
struct Stack {
  std::string name = "default";
  std::string backend = "onednn";
  std::vector<std::filesystem::path>
      libraries;  ///< files to load by path, in order (onednn: libdnnl.so.3)
  std::vector<std::filesystem::path> folders;    ///< added in front of the worker's library path
  std::map<std::string, std::string> variables;  ///< environment, e.g. ONEDNN_MAX_CPU_ISA=AVX2
  std::filesystem::path loader;  ///< program loader of another C library; empty: the system's
};

/// Returns what the build found: the oneDNN library of the bundle or compiled in, or the one that
/// PLUMB_ONEDNN_LIBRARY names now. Throws Error{kEnvironment} if that file is missing, saying how
/// to get it.
[[nodiscard]] Stack default_stack();

/// Loads a stack by name: `default` is default_stack(); else `stacks_folder/NAME/stack.toml`, with
/// the keys `backend`, `libraries`, `folders`, `variables` and `loader`; relative paths are
/// relative to the stack's folder. Throws Error{kUser} naming the stacks there are, or the line of
/// the file that is wrong; Error{kEnvironment} if a file or folder that the stack names is missing.
[[nodiscard]] Stack load_stack(const std::string& name, const std::filesystem::path& stacks_folder);

}  // namespace plumb
