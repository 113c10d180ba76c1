// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace plumb::reporting {

inline constexpr std::size_t kLabelBytes = 100;

/// Makes text from a model, a library or a file fit for a label: printable UTF-8 on one line. It
/// has at most `most` bytes, which are 16 or more. A longer text ends in '~' and a hash of the
/// whole, so that different texts stay different.
[[nodiscard]] std::string label_text(const std::string& text, std::size_t most = kLabelBytes);

}  // namespace plumb::reporting
