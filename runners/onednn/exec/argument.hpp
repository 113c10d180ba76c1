// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <oneapi/dnnl/dnnl.hpp>

#include "runners/onednn/exec/execution_plan.hpp"

namespace plumb::onednn {

/// Link from an argument of a primitive to an operand of the layer.
struct Argument {
  int index = 0;  ///< DNNL_ARG_…
  Buffer::Role role = Buffer::Role::kInput;
  std::size_t operand = 0;  ///< index into the spec's inputs or outputs
  bool weight = false;
  dnnl::memory::desc view;  ///< the dense operand in the primitive's dimensions
};

}  // namespace plumb::onednn
