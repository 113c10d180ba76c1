// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace plumb {

/// Returns whether `text` matches `pattern`, in which '*' stands for any characters. Time: at most
/// proportional to the product of both lengths.
[[nodiscard]] bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace plumb
