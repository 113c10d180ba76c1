// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace plumb::onnxruntime {

/// Returns the library that ci/setup installed, or another one that PLUMB_TEST_ONNXRUNTIME names.
/// Empty: there is none.
inline std::vector<std::filesystem::path> real_library() {
  const char* const named = std::getenv("PLUMB_TEST_ONNXRUNTIME");
  const std::filesystem::path file = named != nullptr ? named : PLUMB_ONNXRUNTIME_LIBRARY;
  return std::filesystem::exists(file) ? std::vector{file} : std::vector<std::filesystem::path>();
}

}  // namespace plumb::onnxruntime
