// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/model/layer_spec.hpp"
#include "harness/results/outcome.hpp"
#include "runners/engine/reference/reference.hpp"

namespace plumb {

/// Limits of how much of a result is compared.
struct VerifyOptions {
  std::int64_t fully_below_macs =
      1'000'000'000;  ///< multiply-accumulates; above: `samples` elements
  std::int64_t fully_below_elements =
      std::int64_t{1} << 28;   ///< of an operand or the result; above, their float64 is gigabytes
  std::size_t samples = 4096;  ///< of operators with has_sampled_reference
  std::uint64_t seed = 1;      ///< picks them
};

/// Result of verifying a program's outputs.
struct Verdict {
  Outcome outcome;  ///< kOk; kWrongResult: where, expected and actual; kUnsupported: there is no
                    ///< reference
  std::optional<double>
      maximum_error;         ///< |actual − reference| ÷ max|reference| of that output; absent:
                             ///< nothing compared, or infinite or NaN where it should not be
  std::string output_hash;   ///< see output_hash()
  std::size_t compared = 0;  ///< elements
};

/// Returns XXH64 of all outputs' bytes, chained in order, as 16 hex digits: equal for equal bits.
[[nodiscard]] std::string output_hash(std::span<const Tensor> outputs);

/// Returns the number of products or elements that one output element sums over: K of the
/// tolerance.
[[nodiscard]] std::int64_t reduction_length(const LayerSpec& spec);

/// Returns how far output `index` may be from the reference, relative to max|reference| (DESIGN
/// §5): f64 and f32 1e-5·√K; where bf16 or f16 takes part, or math is downconvert, 2e-2, likewise
/// of 8-bit floats, which tensor cores add up in less than f32 (into 8 bits: one unit of the
/// largest number; cast: 0); tf32 5e-3; integers, bool and operators that only move elements: 0 (of
/// a result that is rounded to integers one in a hundred elements may be off by one: what lay in
/// the middle).
[[nodiscard]] double tolerance_of(const LayerSpec& spec, std::size_t index = 0);

/// Reference of one layer with given operands, shared by many variants. Immutable.
class Verifier {
 public:
  /// Computes the reference; the operands are not needed afterwards. Throws as reference_outputs
  /// does for contradicting shapes; that there is no reference is said by verify.
  Verifier(const LayerSpec& spec,
           std::span<const Tensor> operands,
           const VerifyOptions& options = {});

  /// Compares a program's outputs, dense and in the key's types. NaN and infinities must stand
  /// where the reference has them.
  [[nodiscard]] Verdict verify(std::span<const Tensor> actual) const;

 private:
  LayerSpec spec_;
  Outcome support_;
  bool sampled_ = false;
  std::vector<Tensor> expected_;          // if not sampled
  std::vector<SampledElement> elements_;  // if sampled
};

/// Verifies one result by a Verifier of its own.
[[nodiscard]] Verdict verify(const LayerSpec& spec,
                             std::span<const Tensor> operands,
                             std::span<const Tensor> actual,
                             const VerifyOptions& options = {});

}  // namespace plumb
