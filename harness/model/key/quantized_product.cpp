// SPDX-License-Identifier: Apache-2.0
#include "harness/model/key/quantized_product.hpp"

#include "harness/base/error.hpp"

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

}  // namespace plumb::model
