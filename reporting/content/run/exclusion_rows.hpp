// SPDX-License-Identifier: Apache-2.0
// Private to reporting: what a suite excludes, as text for every format.
#pragma once

#include <string>

#include "harness/results/exclusion.hpp"

namespace plumb::reporting {

/// Returns "CASE: REASON (WHO, until DAY)"; an expired one says so.
[[nodiscard]] std::string exclusion_text(const results::Exclusion& exclusion, bool expired);

}  // namespace plumb::reporting
