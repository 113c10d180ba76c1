// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plumb {

/// Student's t with any positive, also infinite, degrees of freedom: two-sided p, and quantile.
[[nodiscard]] double two_sided_p(double t, double freedom);
[[nodiscard]] double t_quantile(double probability, double freedom);

}  // namespace plumb
