// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "harness/model/key/layer_spec.hpp"

namespace plumb::model {

/// Returns whether a layer computes one of a convolution's gradients: `conv_backward_data` or
/// `conv_backward_weights`.
[[nodiscard]] bool is_convolution_gradient(const LayerSpec& spec);

/// Returns the convolution, pool, gather or attention whose gradient a layer computes, without
/// bias. Its operands and its output have the extents of their gradients.
[[nodiscard]] LayerSpec forward_layer(const LayerSpec& gradient);

/// Returns the product of a `gemm_bias_gradient`, with its fused steps, as a `gemm` with operands
/// at the same places.
[[nodiscard]] LayerSpec product_of(const LayerSpec& gradient);

/// Returns whether a layer updates weights by an optimiser's rule: `sgd`, `adam` or `lamb`.
[[nodiscard]] bool is_update(const LayerSpec& spec);

/// Places of one tensor's operands and results in an update of several tensors.
///
/// The operands of a tensor are its weights, their gradient and the optimiser's states. Its results
/// are the new weights and the new states, each in place of the operand that it replaces. One
/// operand more, behind those of all tensors, is a condition: where that number is 0, the update
/// leaves everything as it is.
class UpdateShape {
 public:
  /// Reads the shape from a spec that check_spec() accepts.
  explicit UpdateShape(const LayerSpec& spec);

  [[nodiscard]] std::size_t states() const { return states_; }  ///< of each tensor
  [[nodiscard]] std::size_t tensors() const { return tensors_; }
  [[nodiscard]] std::size_t weights(std::size_t tensor) const { return tensor * (states_ + 2); }
  [[nodiscard]] std::size_t gradient(std::size_t tensor) const { return weights(tensor) + 1; }
  [[nodiscard]] std::size_t state(std::size_t tensor, std::size_t which) const {
    return weights(tensor) + 2 + which;
  }
  [[nodiscard]] std::optional<std::size_t> condition() const { return condition_; }
  /// Returns the operand in whose place a result is written.
  [[nodiscard]] std::size_t replaced(std::size_t result) const {
    const std::size_t which = result % (states_ + 1);
    return which == 0 ? weights(result / (states_ + 1)) : state(result / (states_ + 1), which - 1);
  }

 private:
  std::size_t states_;
  std::size_t tensors_;
  std::optional<std::size_t> condition_;
};

/// Counts the operations of an update.
[[nodiscard]] double update_flops(const LayerSpec& spec);

}  // namespace plumb::model
