// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "harness/stats/step_model.hpp"

namespace plumb::stats {

/// Compares the last one to four points, too few for a level, with the points since `begin`.
/// Returns the first of them if they are off by 3.4 standard errors, one alone by five deviations.
///
/// The method is generalised least squares: of autocorrelated noise only the innovations are new
/// information. A step appears whole in its first innovation, and by a share of 1 − ρ in each later
/// one.
[[nodiscard]] std::optional<std::size_t> find_suspicion(std::span<const double> values,
                                                        std::size_t begin,
                                                        const NoiseFit& noise);

}  // namespace plumb::stats
