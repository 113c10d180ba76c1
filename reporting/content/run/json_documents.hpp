// SPDX-License-Identifier: Apache-2.0
// Private to reporting: the JSON documents of the command line (docs/reference/command-line.md), as
// values.
#pragma once

#include <iosfwd>
#include <span>

#include "harness/analysis/report/run_json.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb {

/// Writes a document and a newline. Bytes that are not UTF-8 are replaced.
void write_json(const Json& document, std::ostream& out);

[[nodiscard]] Json model_list_document(std::span<const ModelListing> models);
[[nodiscard]] Json model_document(const Graph& graph);
[[nodiscard]] Json runs_document(std::span<const RunRecord> runs);
[[nodiscard]] Json environment_document(const Environment& environment);
[[nodiscard]] Json layer_document(const LayerKey& key,
                                  std::span<const Measurement> rows,
                                  const Environment& environment);

}  // namespace plumb
