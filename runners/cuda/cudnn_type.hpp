// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/tensor.hpp"
#include "runners/cuda/cudnn_abi.hpp"

namespace plumb::cuda {

/// Maps an element type. Throws Unsupported for all but f32, f16 and bf16.
[[nodiscard]] abi::Type cudnn_type(DataType type);

}  // namespace plumb::cuda
