// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/cudnn_type.hpp"

#include <fmt/format.h>

#include "runners/cuda/exec/index_space.hpp"

namespace plumb::cuda {

abi::Type cudnn_type(model::DataType type) {
  switch (type) {
    case model::DataType::kF32:
      return abi::Type::kFloat;
    case model::DataType::kF16:
      return abi::Type::kHalf;
    case model::DataType::kBf16:
      return abi::Type::kBfloat16;
    default:
      throw Unsupported(
          fmt::format("cuDNN is used for f32, f16 and bf16, not for {}", to_text(type)));
  }
}

}  // namespace plumb::cuda
