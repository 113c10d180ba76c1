// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>

#include "harness/analysis/profile/function_growth.hpp"

namespace plumb::reporting {

/// Writes the page `/functions`: which functions of each model take more time, or less, than `days`
/// days ago. The model that got slowest comes first.
void write_growth_page(std::span<const analysis::FunctionGrowth> models,
                       int days,
                       std::ostream& out);

}  // namespace plumb::reporting
