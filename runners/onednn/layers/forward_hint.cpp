// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/layers/forward_hint.hpp"

#include <fmt/format.h>

#include <new>

namespace plumb::onednn {

dnnl::primitive_desc_base forward_hint(dnnl_status_t status, dnnl_primitive_desc_t made) {
  if (status == dnnl_out_of_memory) {
    throw std::bad_alloc();
  }
  if (status != dnnl_success) {
    throw Unsupported(fmt::format("the layer in training itself: {}", status_text(status)));
  }
  return dnnl::primitive_desc_base(made);
}

}  // namespace plumb::onednn
