// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/session/stored/archive.hpp"
#include "reporting/content/store/dashboard.hpp"

namespace plumb {

/// Makes a dashboard of the runs that started within `max_age` before `now`; absent: of all runs.
/// Each is analysed once. Throws what the store throws.
[[nodiscard]] Dashboard dashboard_of(const Archive& archive,
                                     Timestamp now,
                                     std::optional<Seconds> max_age);

}  // namespace plumb
