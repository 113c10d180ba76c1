// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "harness/store/store.hpp"
#include "reporting/change_documents.hpp"

namespace plumb {

/// Compares two stored runs, named as users name them. Throws Error{kRefused} if they differ in
/// more than `varied` names (is_varied()), Error{kUser} for a run that is not there.
[[nodiscard]] RunComparisonReport compare_stored_runs(const Store& store,
                                                      const std::string& baseline,
                                                      const std::string& candidate,
                                                      std::span<const std::string> varied,
                                                      const ComparisonLimits& limits);

}  // namespace plumb
