// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/measure/sample_summary.hpp"

namespace plumb {

/// Returns the 95% interval of a time estimated from samples that were taken in sections with other
/// work between them: neighbours share what the machine does in that second, sections do not.
/// `whole` is the estimate from all samples, `of_sections` the same of each section. Student's t
/// with one degree of freedom less than sections, around `whole` (sectioning: Asmussen and Glynn,
/// Stochastic Simulation, 2007, §III.5a). Below two sections nothing is known of the spread: from
/// zero to twice `whole`. Never below zero. Pure.
[[nodiscard]] Interval section_interval(Seconds whole, std::span<const Seconds> of_sections);

}  // namespace plumb
