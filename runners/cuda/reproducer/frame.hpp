// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace plumb::cuda {

/// Are cudnn_main.cpp.in, recurrent_main.cpp.in and cublaslt_main.cpp.in, embedded by CMake: the
/// parts of a reproducer's main.cpp that are the same for all layers, with a line kVariantsMark
/// where the variants belong.
[[nodiscard]] std::string_view cudnn_frame();
[[nodiscard]] std::string_view recurrent_frame();
[[nodiscard]] std::string_view cublaslt_frame();
inline constexpr std::string_view kVariantsMark = "// ---- variants ----\n";

/// Is replay.hpp of every reproducer.
[[nodiscard]] std::string_view replay_frame();

/// Is the CMakeLists.txt of every reproducer, with a line kLibraryMark where its library belongs.
[[nodiscard]] std::string_view cmake_frame();
inline constexpr std::string_view kLibraryMark = "# ---- library ----\n";

}  // namespace plumb::cuda
