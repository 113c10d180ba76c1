// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

namespace plumb::onednn {

/// Layouts of a primitive that the library was left to choose. An implementation may be offered
/// only if it is asked for in that way.
struct LeftToLibrary {
  bool weights = false;
  bool activations = false;
};

/// Writes the C++ statements that describe a primitive as it was made: its attributes as
/// `attributes`, then `description`, with the layouts that it chose asked for by name and, where
/// that finds nothing, left to the library as they were. Throws Error{kUser} for a kind that is not
/// covered, naming those that are.
[[nodiscard]] std::string primitive_text(const dnnl::primitive& primitive,
                                         bool deterministic,
                                         LeftToLibrary left);

/// Names the C++ class of a primitive: "dnnl::matmul". Throws as primitive_text() does.
[[nodiscard]] std::string class_text(const dnnl::primitive& primitive);

/// Names an argument as the C interface does, so far as it has a name: "DNNL_ARG_SRC".
[[nodiscard]] std::string argument_text(int index);

}  // namespace plumb::onednn
