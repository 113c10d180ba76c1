// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/key/tensor.hpp"
#include "runners/cuda/dnn/cudnn_abi.hpp"

namespace plumb::cuda {

/// Returns cuDNN's enumerator of an element type. Throws Unsupported for all but f32, f16 and bf16.
[[nodiscard]] abi::Type cudnn_type(model::DataType type);

}  // namespace plumb::cuda
