// SPDX-License-Identifier: Apache-2.0
#include "harness/model/key/floating_product.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "harness/model/key/recurrent_shape.hpp"

namespace plumb::model {
namespace {

constexpr std::array kSingle = std::to_array<std::string_view>({
    "conv",
    "conv_transpose",
    "conv_backward_data",
    "conv_backward_weights",
    "gemm",
    "gemm_bias_gradient",
    "matmul",
});

}  // namespace

bool is_single_product(const LayerSpec& spec) {
  return std::find(kSingle.begin(), kSingle.end(), spec.op) != kSingle.end();
}

bool is_floating_product(const LayerSpec& spec) {
  return is_single_product(spec) || spec.op == "attention" || spec.op == "attention_backward" ||
         is_recurrent(spec);
}

}  // namespace plumb::model
