// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/key/layer_spec.hpp"
#include "harness/results/measurement.hpp"
#include "runners/engine/reference/reference.hpp"

namespace plumb::engine {

/// Returns XXH64 of all outputs' bytes, chained in order, as 16 hex digits: equal for equal bits.
[[nodiscard]] std::string output_hash(std::span<const model::Tensor> outputs);

/// Returns the number of products or elements that one output element sums over: K of the
/// tolerance.
[[nodiscard]] std::int64_t reduction_length(const model::LayerSpec& spec);

/// Reference result of one layer for given operands, shared by many variants. Immutable.
class Verifier {
 public:
  /// Ways to add up products that differ in their rounding errors.
  enum class Arithmetic {
    kDirect,      ///< the products themselves
    kTransformed  ///< transformed operands: Winograd, FFT
  };

  /// Result of verifying a program's outputs.
  struct Verdict {
    results::Outcome outcome;  ///< kOk; kWrongResult: where, expected and actual; kUnsupported:
                               ///< there is no reference
    std::optional<double>
        maximum_error;         ///< |actual − reference| ÷ max|reference| of that output; absent:
                               ///< nothing compared, or infinite or NaN where it should not be
    std::string output_hash;   ///< see output_hash()
    std::size_t compared = 0;  ///< elements
  };

  /// Limits on how much of a result is compared.
  struct Options {
    std::int64_t fully_below_macs =
        1'000'000'000;  ///< multiply-accumulates; above, only `samples` elements are compared
    std::int64_t fully_below_elements =
        std::int64_t{1} << 28;   ///< of an operand or the result; above, their float64 is gigabytes
    std::size_t samples = 4096;  ///< of operators with has_sampled_reference
    std::uint64_t seed = 1;      ///< of the choice of samples
  };

  /// Computes the reference. The operands are not needed afterwards. Throws as reference_outputs()
  /// does for contradicting shapes. If there is no reference, verify() reports it.
  Verifier(const model::LayerSpec& spec,
           std::span<const model::Tensor> operands,
           const Options& options);
  Verifier(const model::LayerSpec& spec, std::span<const model::Tensor> operands)
      : Verifier(spec, operands, Options{}) {}

  /// Compares a program's outputs, dense and in the key's types, with the reference. NaN and
  /// infinities must be where the reference has them.
  [[nodiscard]] Verdict verify(std::span<const model::Tensor> actual,
                               Arithmetic arithmetic = Arithmetic::kDirect) const;

 private:
  model::LayerSpec spec_;
  results::Outcome support_;
  bool sampled_ = false;
  std::vector<model::Tensor> expected_;   // if not sampled
  std::vector<double> largest_;           // of each of them: its largest finite magnitude
  std::vector<SampledElement> elements_;  // if sampled
};

/// Returns how a variant computes, by the words of its text and of the library's numerical notes.
[[nodiscard]] Verifier::Arithmetic find_arithmetic(std::string_view variant,
                                                   const results::Attributes& attributes);

/// Returns the largest error allowed of output `index`, relative to max|reference|.
///
/// - f64 and f32: 1e-5·√K, with K = reduction_length(). Of sums of products at most 5e-5, unless
///   computed by a transform: TF32 is off by 2e-4 and more
/// - where bf16, f16 or an 8-bit float takes part, or math is downconvert: 2e-2; of one product of
///   f16 summed in f32 and not transformed 1.2e-3, because bf16 is off by 1.5e-3
/// - tf32: 5e-3; of one product that is not transformed 1.2e-3, because bf16 is off by 1.5e-3
/// - result in an 8-bit float: one unit of the largest number; casts to or from one: 0
/// - integers, bool and operators that only move elements: 0
///
/// Tensor cores add products of 8-bit floats in less than f32. Where a result is rounded to
/// integers, Verifier lets about one in a hundred elements be off by one, because ties may round
/// either way. docs/reference/measurement.md has the same table.
[[nodiscard]] double compute_tolerance(
    const model::LayerSpec& spec,
    std::size_t index = 0,
    Verifier::Arithmetic arithmetic = Verifier::Arithmetic::kDirect);

/// Verifies one result with a temporary Verifier.
[[nodiscard]] Verifier::Verdict verify(const model::LayerSpec& spec,
                                       std::span<const model::Tensor> operands,
                                       std::span<const model::Tensor> actual,
                                       const Verifier::Options& options = {});

}  // namespace plumb::engine
