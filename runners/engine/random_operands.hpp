// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/model/layer_spec.hpp"

namespace plumb {

/// Makes operands for a layer, dense, in the key's order and types (absent ones: empty data):
/// random, never zero (but for conditions, flags and indices), from ranges where the layer's
/// function is defined and does not overflow: variances, logarithms' and roots' arguments positive,
/// indices inside, integers of at most 4, those of 8-bit products over all of their range. The same
/// bytes for the same spec and seed on every machine. Throws Error{kUser} for a type that
/// number_formats cannot write.
[[nodiscard]] std::vector<Tensor> random_operands(const LayerSpec& spec, std::uint64_t seed);

/// Formula by which random_operands() makes number i of an operand out of `bits`. `bits` is output
/// i of SplitMix64 from the seed RandomStream(seed, operand). A number is sign · scale · (low +
/// span · (bits ÷ 2⁴⁰, as a fraction of 2²⁴)), the sign by the lowest bit. A whole number is sign ·
/// (1 + (bits ÷ 2⁸) modulo `largest`), the sign by bit 10.
struct OperandNumbers {
  bool whole = false;
  bool either_sign = false;
  double low = 0.0;
  double span = 0.0;
  double scale = 1.0;
  std::uint64_t largest = 4;  ///< of whole numbers
};

/// Describes the numbers of an operand; empty: conditions, indices and the like, made in other
/// ways.
[[nodiscard]] std::optional<OperandNumbers> operand_numbers(const LayerSpec& spec,
                                                            std::size_t operand);

}  // namespace plumb
