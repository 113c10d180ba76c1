// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "harness/analyze/step_model.hpp"

namespace plumb {

/// Looks at the last one to four points, too few for a level, against the points since `begin`.
/// Returns the first of them if they are off by 3.4 standard errors, one alone by five deviations.
///
/// Generalised least squares: of autocorrelated noise only the innovations are news. A step shows
/// whole in the first of them, and by its share 1 − ρ in each that follows.
[[nodiscard]] std::optional<std::size_t> find_suspicion(std::span<const double> values,
                                                        std::size_t begin,
                                                        const NoiseFit& noise);

}  // namespace plumb
