// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string>

namespace plumb::onednn {

/// Writes the C++ expression that makes a memory descriptor, by the functions of main.cpp.in.
///
/// It gives strides where nothing is blocked, else the name of the library's format with these
/// blocks. Where the library has no name for them (prepacked weights), the layout is left to the
/// primitive.
[[nodiscard]] std::string descriptor_text(const dnnl::memory::desc& descriptor);

/// Writes extents as a C++ braced list: "{1, 64, 56, 56}".
[[nodiscard]] std::string dims_text(const dnnl::memory::dims& dims);

/// Names an element type as the C++ interface does: "f32".
[[nodiscard]] std::string type_text(dnnl::memory::data_type type);

}  // namespace plumb::onednn
