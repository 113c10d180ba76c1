// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace plumb::cuda {

/// Returns the text of cudnn_main.cpp.in, recurrent_main.cpp.in or cublaslt_main.cpp.in, embedded
/// by CMake. These are the parts of a reproducer's main.cpp that are the same for all layers. A
/// line kVariantsMark marks the place of the variants.
[[nodiscard]] std::string_view cudnn_frame();
[[nodiscard]] std::string_view recurrent_frame();
[[nodiscard]] std::string_view cublaslt_frame();
inline constexpr std::string_view kVariantsMark = "// ---- variants ----\n";

/// Returns the text of replay.hpp, which is the same for every reproducer.
[[nodiscard]] std::string_view replay_frame();

/// Returns the CMakeLists.txt of every reproducer. A line kLibraryMark marks the place of its
/// library.
[[nodiscard]] std::string_view cmake_frame();
inline constexpr std::string_view kLibraryMark = "# ---- library ----\n";

}  // namespace plumb::cuda
