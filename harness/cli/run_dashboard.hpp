// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/store/store.hpp"
#include "reporting/dashboard.hpp"

namespace plumb {

/// Follows the runs of a store that started within `max_age` (absent: ever) before `now`. Each is
/// analysed once. Throws what the store throws.
[[nodiscard]] Dashboard dashboard_of(const Store& store,
                                     Timestamp now,
                                     std::optional<Seconds> max_age);

}  // namespace plumb
