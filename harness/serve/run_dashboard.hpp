// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/session/work/session_context.hpp"
#include "reporting/content/store/dashboard.hpp"

namespace plumb::serve {

/// Makes a dashboard of the runs that started within `max_age` before `now`; absent: of all runs.
/// Each is analysed once. Throws what the store throws.
[[nodiscard]] reporting::Dashboard make_dashboard(const session::Archive& archive,
                                                  Timestamp now,
                                                  std::optional<Seconds> max_age);

}  // namespace plumb::serve
