// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/key/tensor.hpp"

namespace plumb::model {

/// Returns whether the type is an 8-bit float of the Open Compute Project (OFP8, revision 1.0,
/// 2023).
[[nodiscard]] constexpr bool is_f8(DataType type) {
  return type == DataType::kF8E4M3 || type == DataType::kF8E5M2;
}

}  // namespace plumb::model
