// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/analyze/bounds.hpp"

namespace plumb {

/// Estimates what an executed plan takes from its parts: its steps in turn, if the execution has
/// them; else from the rows of the layers alone: of each executed layer the variant that the
/// plan uses, weights cold and activations handed on (its race where nothing better was measured;
/// the key's best where that variant has no row), and the reorders between them. Kind `predicted`,
/// in the execution's mode. Absent: the execution cannot tell its layers, or the run has no such
/// rows.
[[nodiscard]] std::optional<Bound> estimate_of_plan(const Execution& execution,
                                                    const ResultSet& results);

/// Lists the layers of an execution that have a row of their own in this run, the largest
/// difference between inside and alone first, at most `most`.
[[nodiscard]] std::vector<LayerInModel> largest_differences(const Execution& execution,
                                                            const Graph& graph,
                                                            const ResultSet& results,
                                                            std::size_t most);

}  // namespace plumb
