// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plumb {

/// Escapes text for a segment of a URL's path or a value of its query (RFC 3986 §2).
[[nodiscard]] std::string percent_encoded(std::string_view text);

/// Decodes percent escapes. Absent: an escape is malformed.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace plumb
