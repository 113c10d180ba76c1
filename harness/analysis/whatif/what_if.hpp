// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "harness/analysis/whatif/what_if_input.hpp"
#include "harness/analysis/whatif/what_if_result.hpp"

namespace plumb::analysis {

/// Row of the table of what-ifs. A new what-if is one file and one row.
struct WhatIf {
  std::string_view name;
  std::string_view question;
  std::string_view execution_mode;  ///< that switches it on; empty: none does
  WhatIfResult (*evaluate)(const WhatIfInput& input);
  std::string_view baseline_mode = "plain";  ///< against which it does
  bool plans_tell = true;                    ///< the prices of executed plans hold what it changes
};
[[nodiscard]] std::span<const WhatIf> what_ifs();

/// Answers of all what-ifs for one model, and the best combinations of several.
struct ModelWhatIfs {
  ModelInstance instance;
  std::vector<WhatIfResult> whatifs;
};
[[nodiscard]] ModelWhatIfs compute_what_ifs(const WhatIfInput& input);

/// Sorts by the predicted saving, largest first. What has no prediction comes last.
void rank(ModelWhatIfs& whatifs);

}  // namespace plumb::analysis
