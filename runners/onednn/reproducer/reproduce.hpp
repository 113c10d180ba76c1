// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "harness/worker/protocol/requests.hpp"
#include "runners/onednn/exec/variant_builder.hpp"

namespace plumb::onednn {

/// Returns main.cpp.in, embedded by CMake: the part of a reproducer that all layers share. The
/// layers replace its line kLayersMark.
[[nodiscard]] std::string_view reproducer_frame();
inline constexpr std::string_view kLayersMark = "// ---- layers ----\n";

/// Returns the CMakeLists.txt of every reproducer.
[[nodiscard]] std::string_view reproducer_cmake();

/// Writes the standalone program of a request's rows. Each variant is made and executed once, to
/// record elements of its output. Throws Error{kUser} for what reproducer_source() does not cover,
/// for a variant that this library does not have, and for rows without a time.
[[nodiscard]] worker::Reproducer reproduce(const worker::Reproducer::Request& request,
                                           const VariantBuilder::List& builders,
                                           const Device& device);

}  // namespace plumb::onednn
