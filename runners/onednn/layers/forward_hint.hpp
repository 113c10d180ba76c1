// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include "runners/onednn/exec/variant_builder.hpp"

namespace plumb::onednn {

/// Takes ownership of the descriptor of a gradient's own layer, which the library needs. Throws
/// Unsupported if the library has none (`status` is an error), and std::bad_alloc if it had no
/// memory.
[[nodiscard]] dnnl::primitive_desc_base forward_hint(dnnl_status_t status,
                                                     dnnl_primitive_desc_t made);

}  // namespace plumb::onednn
