// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/session/stored/stored_triage.hpp"

namespace plumb::serve {

/// Decision about changes, as a page sends it.
struct TriageRequest {
  std::vector<std::string> changes;
  session::TriageDecision decision;
};

/// Parses {"action", "changes", "text", "who"}. The action is accept, invalid, assign or note, and
/// the text its reason, name or note. Throws Error{kUser}.
[[nodiscard]] TriageRequest parse_triage_request(std::string_view body);

/// Returns whether a header is "Bearer TOKEN". How long that takes tells nothing of the token. An
/// empty token is nobody's.
[[nodiscard]] bool has_token(std::string_view authorization, std::string_view token);

}  // namespace plumb::serve
