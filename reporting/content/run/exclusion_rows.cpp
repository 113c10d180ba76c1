// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/run/exclusion_rows.hpp"

#include <fmt/format.h>

#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {

std::string exclusion_text(const results::Exclusion& exclusion, bool expired) {
  return fmt::format("{}: {} ({}{}{})",
                     exclusion.match,
                     exclusion.reason,
                     exclusion.who.empty() ? "" : exclusion.who + ", ",
                     expired ? "expired after " : "until ",
                     exclusion.until);
}

std::string exclusion_lines(std::span<const results::Exclusion> exclusions, std::string_view day) {
  std::string text = exclusions.empty() ? "" : "excluded by the suite from gates and alerts\n";
  for (const results::Exclusion& each : exclusions) {
    text += "  " + sanitize_utf8(exclusion_text(each, !each.holds_on(day))) + "\n";
  }
  return text;
}

}  // namespace plumb::reporting
