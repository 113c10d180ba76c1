// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace plumb::worker {

/// One set of library versions that a worker is started with (`stack.toml`).
///
/// A worker gets no other setting that tunes a library. These variables of the surrounding
/// environment are dropped, so that a stack means the same on every shell: OMP_*, GOMP_*, KMP_*,
/// MKL_*, ONEDNN_*, DNNL_*, CUDNN_*, CUBLAS*_* and NVIDIA_TF32_OVERRIDE.
struct Stack {
  std::string name = "default";
  std::string backend = "onednn";
  std::vector<std::filesystem::path>
      libraries;  ///< files to load by path, in order (onednn: libdnnl.so.3)
  std::vector<std::filesystem::path> folders;    ///< added in front of the worker's library path
  std::map<std::string, std::string> variables;  ///< environment, e.g. ONEDNN_MAX_CPU_ISA=AVX2
  std::filesystem::path loader;  ///< program loader of another C library; empty: the system's
};

/// Returns the stack with the oneDNN library of the bundle, else with the one compiled in.
/// PLUMB_ONEDNN_LIBRARY overrides both. Throws Error{kEnvironment}, saying how to get the file, if
/// it is missing.
[[nodiscard]] Stack default_stack();

/// Loads a stack by name. `default` is default_stack(). Other stacks are in
/// `stacks_folder/NAME/stack.toml`, with the keys `backend`, `libraries`, `folders`, `variables`
/// and `loader`. Paths start at its folder. A bare name may also be beside the default's library.
///
/// A name with a '/' is the path of a folder instead, and the stack is called by its absolute path.
/// It has a stack.toml, or a library that a worker measures: in itself, in `lib`, `lib64` or `src`.
/// It may also be the folder of a Python's packages, among them PyTorch.
///
/// Throws Error{kUser} that lists the stacks there are, or names the wrong line of the file. Throws
/// Error{kEnvironment} if a file or folder that the stack names is missing.
[[nodiscard]] Stack load_stack(const std::string& name, const std::filesystem::path& stacks_folder);

/// Returns whether the name of a stack is the path of a folder.
[[nodiscard]] bool names_folder(const std::string& stack);

/// Returns a stack's name as a name of files: that of a folder is its last part and a digest.
[[nodiscard]] std::string file_name_of(const std::string& stack);

}  // namespace plumb::worker
