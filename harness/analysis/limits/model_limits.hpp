// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Returns the channels in a block of a CPU kernel's layout, by its instructions: 16 for AVX-512
/// (nChw16c), 8 for AVX and AVX2 (nChw8c). Absent: the variant's name does not say.
[[nodiscard]] std::optional<std::int64_t> channels_per_block(std::string_view variant);

/// Returns a convolution, or a product with one constant matrix, with its channels, in and out,
/// rounded up to whole blocks. It computes the same and more. The channels of a product are the
/// columns of its operand and of its result. Absent: the channels fill whole blocks, a convolution
/// has groups, or the layer is another one.
///
/// Input channels below one block stay. Kernels for images have layouts of their own for them.
[[nodiscard]] std::optional<model::LayerSpec> padded_layer(const model::LayerSpec& spec,
                                                           std::int64_t block);

/// Ceilings of a machine against a model and its steps.
struct ModelLimits {
  /// Resource that most of a step's time goes to (docs/reference/bounds.md, "Limits").
  enum class Limit {
    kCompute,   ///< arithmetic: its products reach half of the peak at least
    kMemory,    ///< transfers: its bytes reach half of the memory's bandwidth at least
    kOverhead,  ///< the call or launch costs more than the step itself
    kLatency,   ///< neither: dependent instructions, too little parallel work, or a poor kernel
  };

  /// Place of a step under the roofline. A share may exceed 1: caches are faster than memory.
  struct Step {
    std::vector<model::LayerId> layers;
    model::LayerKey key;
    Seconds seconds{};
    std::optional<Limit> limit;             ///< absent: the ceilings of its kind are not known
    std::optional<double> intensity;        ///< operations ÷ bytes; absent: it moves none
    std::optional<double> peak_share;       ///< minimum operations of its products ÷ time ÷ peak
    std::optional<double> bandwidth_share;  ///< operands and results, once each ÷ time ÷ bandwidth
    std::optional<double> block_use;        ///< its MACs ÷ those with channels in whole blocks;
                                            ///< absent: they are
    model::LayerKey padded;                 ///< with channels in whole blocks; empty: it is so
    std::optional<Seconds> padded_seconds;  ///< absent: the padded layer was not measured
    std::optional<double> waves;  ///< of thread blocks, of its largest kernel; absent: not known

    /// Returns the share of the places of the last wave that stay empty.
    [[nodiscard]] std::optional<double> idle_in_last_wave() const;
  };

  std::vector<Step> steps;          ///< of `library` (fusion), with a time; slowest first
  Flops operations;                 ///< of all layers as written
  Bytes compulsory;                 ///< that every execution moves
  std::optional<double> intensity;  ///< operations ÷ compulsory bytes
  std::optional<double> ridge;      ///< operations a byte, from which arithmetic can bind
  std::optional<Limit> limit;       ///< what the bound `hardware` is made of

  /// Returns the time of the steps that a resource binds ÷ that of all steps.
  [[nodiscard]] double share(std::optional<Limit> limit) const;
};

inline constexpr std::array kLimits = {ModelLimits::Limit::kCompute,
                                       ModelLimits::Limit::kMemory,
                                       ModelLimits::Limit::kOverhead,
                                       ModelLimits::Limit::kLatency};

[[nodiscard]] std::string_view to_text(ModelLimits::Limit limit);

/// Adds the times of padded layers, as far as they are among the results: hot, fastest variants.
void add_padded_times(const ResultSet& results, ModelLimits& limits);

/// Adds the waves of the steps that a GPU executed, by the kernels that their rows name.
void add_waves(const ResultSet& results,
               const results::Environment& environment,
               ModelLimits& limits);

/// Computes the limits of a model from its bounds and the run's calibration. Pure.
[[nodiscard]] ModelLimits compute_limits(const model::Graph& graph,
                                         const ResultSet& results,
                                         const ModelBounds& bounds);

/// Computes the waves in which a GPU executes the thread blocks of a row's largest kernel. They are
/// its blocks ÷ those that all multiprocessors hold at once, by threads, registers and shared
/// memory. cuBLASLt's own count goes first. Absent: the row names no kernels, or the architecture
/// is not in the table.
[[nodiscard]] std::optional<double> count_waves(const results::Attributes& row,
                                                const results::Environment& environment);

}  // namespace plumb::analysis
