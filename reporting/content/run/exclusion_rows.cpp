// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/run/exclusion_rows.hpp"

#include <fmt/format.h>

namespace plumb::reporting {

std::string exclusion_text(const results::Exclusion& exclusion, bool expired) {
  return fmt::format("{}: {} ({}{}{})",
                     exclusion.match,
                     exclusion.reason,
                     exclusion.who.empty() ? "" : exclusion.who + ", ",
                     expired ? "expired after " : "until ",
                     exclusion.until);
}

}  // namespace plumb::reporting
