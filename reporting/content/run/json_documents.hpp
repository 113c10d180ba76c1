// SPDX-License-Identifier: Apache-2.0
// Private to reporting: the JSON documents of the command line (docs/reference/command-line.md), as
// values.
#pragma once

#include <iosfwd>
#include <span>

#include "harness/analysis/report/run_json.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/results/run.hpp"
#include "reporting/content/run/model_listing.hpp"

namespace plumb::reporting {

/// Writes a document and a newline. Bytes that are not UTF-8 are replaced.
void write_json(const analysis::Json& document, std::ostream& out);

[[nodiscard]] analysis::Json model_list_document(std::span<const ModelListing> models);
[[nodiscard]] analysis::Json model_document(const model::Graph& graph);
[[nodiscard]] analysis::Json runs_document(std::span<const results::RunRecord> runs);
[[nodiscard]] analysis::Json environment_document(const results::Environment& environment);
[[nodiscard]] analysis::Json layer_document(const model::LayerKey& key,
                                            std::span<const results::Measurement> rows,
                                            const results::Environment& environment);

}  // namespace plumb::reporting
