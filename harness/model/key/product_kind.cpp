// SPDX-License-Identifier: Apache-2.0
#include "harness/model/key/product_kind.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "harness/base/error.hpp"
#include "harness/model/key/sequence_shapes.hpp"

namespace plumb::model {

bool is_integer_product(const LayerSpec& spec) {
  return spec.op == "conv_integer" || spec.op == "matmul_integer";
}

QuantizedProduct quantized_product(const LayerSpec& spec) {
  PLUMB_CHECK(is_integer_product(spec));
  const std::size_t first = spec.op == "conv_integer" ? 3 : 2;  // behind x, w and conv's bias
  return {first, first + 1, first + 2, first + 3, first + 4, first + 5};
}

bool rounds_to_integers(const LayerSpec& spec) {
  return spec.op == "quantize" ||
         (is_integer_product(spec) && spec.has_input(quantized_product(spec).y_scale));
}

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
