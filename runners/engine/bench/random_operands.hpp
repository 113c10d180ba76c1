// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/model/key/layer_spec.hpp"

namespace plumb::engine {

/// Makes a layer's operands, dense, in the key's order and types. Absent operands have no data.
///
/// The numbers are random, and never zero except for conditions, flags and indices. They come from
/// ranges in which the layer's function is defined and does not overflow:
///
/// - variances and the arguments of logarithms and roots are positive
/// - indices lie inside their axis
/// - integers are at most 4, except those of 8-bit products, which take all of their range
///
/// The bytes are the same for the same spec and seed on every machine. Throws Error{kUser} for a
/// type that number_formats cannot write.
[[nodiscard]] std::vector<model::Tensor> random_operands(const model::LayerSpec& spec,
                                                         std::uint64_t seed);

/// Formula by which random_operands() makes number i of an operand. It takes `bits`, output i of
/// SplitMix64 from the seed RandomStream(seed, operand).
///
/// - A real number is sign · scale · (low + span · (bits ÷ 2⁴⁰, as a fraction of 2²⁴)), with the
///   sign from the lowest bit.
/// - A whole number is sign · (1 + (bits ÷ 2⁸) modulo `largest`), with the sign from bit 10.
struct OperandNumbers {
  bool whole = false;
  bool either_sign = false;
  double low = 0.0;
  double span = 0.0;
  double scale = 1.0;
  std::uint64_t largest = 4;  ///< of whole numbers
};

/// Returns the formula of an operand's numbers. Returns nothing for conditions, indices and the
/// like, which are made in other ways.
[[nodiscard]] std::optional<OperandNumbers> operand_numbers(const model::LayerSpec& spec,
                                                            std::size_t operand);

}  // namespace plumb::engine
