// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace plumb::onednn {

/// Returns main.cpp.in, embedded by CMake: the part of a reproducer that all layers share. The
/// layers replace its line kLayersMark.
[[nodiscard]] std::string_view reproducer_frame();
inline constexpr std::string_view kLayersMark = "// ---- layers ----\n";

/// Returns the CMakeLists.txt of every reproducer.
[[nodiscard]] std::string_view reproducer_cmake();

}  // namespace plumb::onednn
