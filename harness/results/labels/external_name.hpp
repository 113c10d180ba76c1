// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "harness/results/measurement.hpp"

namespace plumb::results {

inline constexpr std::string_view kExternalKey = "external:";
inline constexpr std::string_view kExternalVariant = "external;benchmark=";

/// Returns the key of an imported row whose name says nothing about what it computes
/// (docs/adr/0006).
[[nodiscard]] inline model::LayerKey external_key(const std::string& suite,
                                                  const std::string& name) {
  return {std::string(kExternalKey) + suite + ":" + name};
}

/// Returns the variant of an imported row whose name a mapping relates to a layer key.
[[nodiscard]] inline std::string external_variant(const std::string& name) {
  return std::string(kExternalVariant) + name;
}

/// Returns the name that another harness gave to what a row measured. Absent: the row was not
/// imported.
[[nodiscard]] inline std::optional<std::string> external_name(const Measurement& row) {
  const std::string& key = row.key.text;
  if (key.starts_with(kExternalKey)) {
    const std::size_t end = key.find(':', kExternalKey.size());
    return key.substr(end == std::string::npos ? kExternalKey.size() : end + 1);
  }
  if (row.variant.starts_with(kExternalVariant)) {
    return row.variant.substr(kExternalVariant.size());
  }
  return std::nullopt;
}

}  // namespace plumb::results
