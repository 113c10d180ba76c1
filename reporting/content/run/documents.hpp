// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>

#include "harness/analysis/report/baseline_entry.hpp"
#include "harness/analysis/report/run_report.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/results/environment.hpp"
#include "harness/results/run.hpp"
#include "reporting/content/run/model_listing.hpp"

namespace plumb::reporting {

/// Ways in which a command prints: for people, or as JSON. The JSON is one document with
/// `schema_version` (docs/reference/command-line.md).
enum class OutputMode { kText, kJson };

/// How much of a result a text tells.
enum class Detail { kShort, kAll };

/// Writes the output of `plumb model list`.
void write_model_list(std::span<const ModelListing> models, OutputMode style, std::ostream& out);
/// Writes the output of `plumb model show`.
void write_model(const model::Graph& graph, OutputMode style, std::ostream& out);
/// Writes the output of `plumb runs`.
void write_runs(std::span<const results::RunRecord> runs, OutputMode style, std::ostream& out);
/// Writes the output of `plumb bound`. In short, a model is one sentence and one table, and what
/// made times uncertain is said once. The JSON has everything.
void write_bounds(const analysis::RunReport& report,
                  OutputMode style,
                  std::ostream& out,
                  Detail detail = Detail::kShort);
/// Writes the output of `plumb whatif`: the largest predicted saving first. In short, only the
/// three largest savings are explained.
void write_what_ifs(const analysis::RunReport& report,
                    OutputMode style,
                    std::ostream& out,
                    Detail detail = Detail::kShort);
/// Writes the output of `plumb env`.
void write_environment(const results::Environment& environment,
                       OutputMode style,
                       bool explain,
                       std::ostream& out);
/// Writes the output of `plumb layer`: the rows of one key, fastest first. As text without `all`,
/// the first ones and the library's choice, and what is known of that and of the fastest.
void write_layer(const model::LayerKey& key,
                 std::span<const results::Measurement> rows,
                 const results::Environment& environment,
                 OutputMode style,
                 bool all,
                 std::ostream& out);

/// Writes the output of `plumb baseline list`.
void write_baselines(std::span<const analysis::BaselineEntry> entries,
                     OutputMode style,
                     std::ostream& out);

}  // namespace plumb::reporting
