// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace plumb {

/// Returns whether a text is ASCII without zero bytes.
[[nodiscard]] bool is_plain(std::string_view text);
/// Returns a text in UTF-8, without zero bytes, which not every database can hold. Other bytes
/// become U+FFFD, and zeros question marks.
[[nodiscard]] std::string in_utf8(std::string text);

}  // namespace plumb
