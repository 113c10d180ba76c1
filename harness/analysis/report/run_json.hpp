// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/report/reports.hpp"
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

/// Returns the facts of an environment under its id, for a document that names the id.
[[nodiscard]] Json environments_json(const results::Environment& environment);

/// Returns the bounds of all models of a report, in its order.
[[nodiscard]] std::vector<ModelBounds> all_bounds(const RunReport& report);

[[nodiscard]] Json run_json(const results::RunRecord& run);

/// Returns what a run's suite excludes, and whether it has expired on a day.
[[nodiscard]] Json exclusions_json(std::span<const results::Exclusion> exclusions,
                                   std::string_view day);

/// Returns bounds and executions of a run's models, and its single layers. The store keeps it for
/// each model, and `plumb bound --json` prints it.
[[nodiscard]] Json bounds_document(const RunReport& report);
/// Returns what-ifs of a run's models. The store keeps it for each model, and `plumb whatif --json`
/// prints it.
[[nodiscard]] Json what_ifs_document(const RunReport& report);

}  // namespace plumb::analysis
