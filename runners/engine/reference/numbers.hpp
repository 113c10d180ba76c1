// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "harness/model/key/layer_spec.hpp"

namespace plumb::engine::reference {

using Dims = std::vector<std::int64_t>;

/// Dense tensor in float64; empty for an absent operand.
struct Numbers {
  Dims dims;
  std::vector<double> values;
};

/// Operands of a layer in the key's order, with sizes checked against the spec.
using Operands = std::span<const Numbers>;

/// Throws Error{kUser} with the layer's operator and `what` unless the condition holds.
void require(bool condition, const model::LayerSpec& spec, std::string_view what);

/// Makes zeros in the shape of the layer's output `index`.
[[nodiscard]] Numbers zeros_like_output(const model::LayerSpec& spec, std::size_t index = 0);

/// Reads the operands of a layer as numbers. `operands` may have more than the layer.
[[nodiscard]] std::vector<Numbers> numbers_of_operands(const model::LayerSpec& spec,
                                                       std::span<const model::Tensor> operands);

/// Returns the product of the extents [begin, end).
[[nodiscard]] std::int64_t product(const Dims& dims, std::size_t begin, std::size_t end);
[[nodiscard]] std::int64_t product(const Dims& dims);

/// Returns the distance in elements between neighbours along each axis of a dense tensor.
[[nodiscard]] Dims dense_strides(const Dims& dims);

/// Mapping from the elements of `to` to those of a tensor that numpy's rule broadcasts to it.
class Broadcast {
 public:
  /// Prepares the mapping. Throws Error{kUser} unless `from` broadcasts to `to`.
  Broadcast(const model::LayerSpec& spec, const Dims& from, const Dims& to);

  [[nodiscard]] std::size_t operator()(std::size_t element) const {
    if (same_) {
      return element;
    }
    std::size_t rest = element;
    std::size_t found = 0;
    for (std::size_t axis = extents_.size(); axis-- > 0;) {
      found += (rest % extents_[axis]) * strides_[axis];
      rest /= extents_[axis];
    }
    return found;
  }

 private:
  bool same_;
  std::vector<std::size_t> extents_;
  std::vector<std::size_t> strides_;  // 0 where the extent is repeated
};

}  // namespace plumb::engine::reference

namespace plumb::engine {

/// One output element, computed apart from all others.
struct SampledElement {
  std::size_t output = 0;   ///< index into LayerSpec::outputs
  std::size_t element = 0;  ///< index into the dense output
  double value = 0.0;       ///< float64, not rounded to the output's type
};

}  // namespace plumb::engine
