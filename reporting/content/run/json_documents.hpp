// SPDX-License-Identifier: Apache-2.0
// Private to reporting: the JSON documents of the command line (docs/reference/command-line.md), as
// values.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <span>

#include "reporting/content/run/documents.hpp"

namespace plumb {

using Json = nlohmann::ordered_json;

/// Writes a document and a newline. Bytes that are not UTF-8 are replaced.
void write_json(const Json& document, std::ostream& out);

[[nodiscard]] Json bounds_json(const ModelBounds& model, Timestamp now);
[[nodiscard]] Json what_if_json(const WhatIfResult& result);
[[nodiscard]] Json run_json(const RunRecord& run);

[[nodiscard]] Json model_list_document(std::span<const ModelListing> models);
[[nodiscard]] Json model_document(const Graph& graph);
[[nodiscard]] Json runs_document(std::span<const RunRecord> runs);
[[nodiscard]] Json bounds_document(const RunReport& report);
[[nodiscard]] Json what_ifs_document(const RunReport& report);
[[nodiscard]] Json environment_document(const Environment& environment);
[[nodiscard]] Json layer_document(const LayerKey& key,
                                  std::span<const Measurement> rows,
                                  const Environment& environment);

}  // namespace plumb
