// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "runners/onednn/reproducer/primitive_description.hpp"

namespace plumb::onednn {

/// Writes the C++ statements that describe a primitive as it was made.
///
/// They define `attributes` and then `description`. The layouts that the library chose are asked
/// for by name. Where that finds nothing, they are left to the library as they were. Throws
/// Error{kUser} for a kind that is not covered, with the kinds that are.
[[nodiscard]] std::string primitive_text(const dnnl::primitive& primitive,
                                         bool deterministic,
                                         LeftToLibrary left);

/// Names the C++ class of a primitive, such as "dnnl::matmul". Throws as primitive_text() does.
[[nodiscard]] std::string class_text(const dnnl::primitive& primitive);

/// Names an argument as the C interface does, such as "DNNL_ARG_SRC"; a number if it has no name.
[[nodiscard]] std::string argument_text(int index);

}  // namespace plumb::onednn
