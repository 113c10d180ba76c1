// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace plumb {

/// Writes a JSON value as text, whatever bytes its strings hold: what is not UTF-8 becomes U+FFFD.
/// An `indent` of -1 writes one line.
[[nodiscard]] std::string json_text(const nlohmann::json& value, int indent = -1);

}  // namespace plumb
