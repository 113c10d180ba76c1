// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace plumb::reporting {

/// Escapes text for XML 1.0 and HTML, between elements or in a quoted attribute. The result is one
/// line.
[[nodiscard]] std::string escape_xml(const std::string& text);

}  // namespace plumb::reporting
