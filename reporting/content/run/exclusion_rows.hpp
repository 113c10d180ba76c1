// SPDX-License-Identifier: Apache-2.0
// Private to reporting: what a suite excludes, as texts and tables for every format.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "harness/results/exclusion.hpp"

namespace plumb::reporting {

/// Returns "CASE: REASON (WHO, until DAY)"; an expired one says so.
[[nodiscard]] std::string exclusion_text(const results::Exclusion& exclusion, bool expired);

/// Returns the lines of a text report that list what a run's suite excludes on a day; empty: there
/// is nothing.
[[nodiscard]] std::string exclusion_lines(std::span<const results::Exclusion> exclusions,
                                          std::string_view day);

}  // namespace plumb::reporting
