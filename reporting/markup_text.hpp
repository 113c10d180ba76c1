// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace plumb {

/// Escapes text for XML 1.0 and HTML, between elements or in a quoted attribute; one line.
[[nodiscard]] std::string markup_text(const std::string& text);

}  // namespace plumb
