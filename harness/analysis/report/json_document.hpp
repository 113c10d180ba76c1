// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "harness/base/units.hpp"

namespace plumb::analysis {

using Json = nlohmann::ordered_json;

inline constexpr int kJsonSchemaVersion = 1;

/// Returns a document with its `schema_version` and nothing else.
[[nodiscard]] Json new_document();
/// Returns the text of a document, indented, with a newline at its end. Bytes that are not UTF-8
/// are replaced.
[[nodiscard]] std::string document_text(const Json& document);
/// Returns seconds, or null if they are absent.
[[nodiscard]] Json seconds_or_null(const std::optional<Seconds>& value);
/// Returns bytes, or null if they are absent.
[[nodiscard]] Json bytes_or_null(const std::optional<Bytes>& value);
/// Returns a number, or null if it is absent.
template <typename Number>
[[nodiscard]] Json number_or_null(const std::optional<Number>& value) {
  return value ? Json(*value) : Json();
}
/// Returns a text, or null if it is empty.
[[nodiscard]] Json text_or_null(const std::string& text);

}  // namespace plumb::analysis
