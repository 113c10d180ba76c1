// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plumb::stats {

/// Returns the two-sided p of Student's t. The degrees of freedom are positive and may be infinite.
[[nodiscard]] double two_sided_p(double t, double freedom);
/// Returns the quantile of Student's t, with degrees of freedom as in two_sided_p().
[[nodiscard]] double t_quantile(double probability, double freedom);

}  // namespace plumb::stats
