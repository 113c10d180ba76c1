// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace plumb {

/// Writes any text as a C++ string literal, quotes included. Printable ASCII stays as it is. The
/// rest becomes octal escapes of three digits, so that nothing in it ends the literal or the line.
[[nodiscard]] std::string cpp_literal(std::string_view text);

}  // namespace plumb
