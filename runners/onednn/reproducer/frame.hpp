// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace plumb::onednn {

/// Is main.cpp.in, embedded by CMake: the part of a reproducer that is the same for all layers,
/// with a line kLayersMark where the layers belong.
[[nodiscard]] std::string_view reproducer_frame();
inline constexpr std::string_view kLayersMark = "// ---- layers ----\n";

/// Is the CMakeLists.txt of every reproducer.
[[nodiscard]] std::string_view reproducer_cmake();

}  // namespace plumb::onednn
