// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/measure/sample_summary.hpp"

namespace plumb::measure {

/// Returns the 95% interval of a time whose samples were taken in sections, between other work.
/// Neighbouring samples share what the machine does in that second. Sections do not.
///
/// `whole` is the estimate from all samples, and `of_sections` has the estimate of each section.
/// The interval is Student's t around `whole`, with one degree of freedom less than sections
/// (sectioning: Asmussen and Glynn, Stochastic Simulation, 2007, §III.5a). Below two sections the
/// spread is unknown, and the interval goes from zero to twice `whole`. It never begins below zero.
/// Pure.
[[nodiscard]] Interval section_interval(Seconds whole, std::span<const Seconds> of_sections);

}  // namespace plumb::measure
