// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/model/key/tensor.hpp"

namespace plumb::engine {

/// Returns the largest difference over all floating outputs, relative to the largest expected
/// magnitude. Both lists have the same types and extents in the same order.
[[nodiscard]] double largest_difference(std::span<const model::Tensor> outputs,
                                        std::span<const model::Tensor> expected);

/// Returns the distance of the outputs of each kind, relative to the norm of the expected ones.
///
/// `kinds` has a number for each output, from 0. So a gradient that is zero but for rounding, as
/// that of a bias before a normalisation, is compared with the size of all gradients.
[[nodiscard]] std::vector<double> distances_by_kind(std::span<const model::Tensor> outputs,
                                                    std::span<const model::Tensor> expected,
                                                    std::span<const std::size_t> kinds);

/// Distance of outputs from the expected ones, and what rounding explains.
struct Deviation {
  double error = 0.0;
  double most = 0.0;
  [[nodiscard]] bool is_beyond() const { return !(error <= most); }  ///< also what is no number
};

/// Returns the distance that is the largest beside what rounding explains of its kind: four times
/// what measure_rounding() found, at least `most` and otherwise at most 0.1, or 1 where `most` is
/// that of few digits. An empty `rounding` is not known.
[[nodiscard]] Deviation worst_distance(std::span<const double> distances,
                                       std::span<const double> rounding,
                                       double most);

/// Returns the largest difference from the reference of the same graph that counts as rounding. It
/// is 2e-4 where all is f32 or wider, 0.3 with 8-bit integers, and 0.1 otherwise. The reference
/// rounds where the graph does, so that a deep model's own rounding is not in it.
[[nodiscard]] double tolerated_by_reference(const model::Graph& graph);

/// Returns the largest difference that counts as rounding of a model that was executed in a type of
/// suites. It is 1e-3 where that and all floating outputs are f32, and 0.5 otherwise. Rounding to
/// bf16 costs a well conditioned model 1%, and the zoo's worst (DUC, with random weights) 43%. A
/// result that has nothing to do with the right one is off by 100%.
[[nodiscard]] double tolerated_difference(std::span<const model::Tensor> outputs,
                                          std::string_view type);

}  // namespace plumb::engine
