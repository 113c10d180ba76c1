// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include "runners/onednn/offer.hpp"

namespace plumb::onednn {

/// Owns the descriptor of the layer whose gradient is asked for: the library wants to see it.
/// Throws Unsupported if the library has none (`status` is an error), std::bad_alloc if it had no
/// memory.
[[nodiscard]] dnnl::primitive_desc_base forward_hint(dnnl_status_t status,
                                                     dnnl_primitive_desc_t made);

}  // namespace plumb::onednn
