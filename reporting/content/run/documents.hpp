// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "harness/analysis/report/reports.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/exclusion.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/run.hpp"
#include "harness/results/scenario_result.hpp"
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
void write_baselines(std::span<const analysis::RunReport::Baseline> entries,
                     OutputMode style,
                     std::ostream& out);

/// Returns "CASE: REASON (WHO, until DAY)"; an expired one says so.
[[nodiscard]] std::string exclusion_text(const results::Exclusion& exclusion, bool expired);

/// Returns the score of a load: "90 % ≤ 12.30 ms", "81.5 queries/s (99 % ≤ 15 ms)", "97.2
/// samples/s".
[[nodiscard]] std::string score_text(const results::ScenarioResult& load);

/// Returns "VALID", "INVALID", or the outcome of a load that was not executed.
[[nodiscard]] std::string verdict_text(const results::ScenarioResult& load);

/// Writes the README.md of a reproducer, for the readers of a bug report. It has the key, what was
/// measured on what, with intervals, how to measure it with plumb, and `instructions` (Markdown).
void write_reproducer_readme(const model::LayerKey& key,
                             std::span<const results::Measurement> rows,
                             const results::Environment& environment,
                             const std::string& stack,
                             const std::string& instructions,
                             std::ostream& out);

}  // namespace plumb::reporting
