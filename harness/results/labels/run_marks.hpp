// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "harness/results/environment.hpp"

namespace plumb::results {

/// Marks of runs whose times come about in another way than those of `plumb run`. A mark ends the
/// name of the method of measurement, so it is part of the environment's identity.
inline constexpr std::string_view kPairedMark = " paired";    ///< in turns with another worker
inline constexpr std::string_view kSampledMark = " sampled";  ///< while a profiler sampled them

/// Attribute of the rows whose blocks were sampled: how.
inline constexpr const char* kSampledRow = "sampled";

/// Returns whether a run has a mark.
[[nodiscard]] bool has_mark(const Environment& environment, std::string_view mark);
/// Adds a mark to a run that has none.
void add_mark(std::string_view mark, Environment& environment);
/// Returns the environment without a mark.
[[nodiscard]] Environment without_mark(Environment environment, std::string_view mark);

}  // namespace plumb::results
