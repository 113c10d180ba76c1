// SPDX-License-Identifier: Apache-2.0
// Private to reporting: the metrics of a comparison as texts, for every format, and on a page.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/compare/attribution.hpp"
#include "harness/analysis/compare/comparison_result.hpp"
#include "harness/analysis/compare/metric_comparison.hpp"
#include "harness/analysis/qualify/qualification.hpp"
#include "harness/analysis/report/reports.hpp"
#include "reporting/document/page.hpp"

namespace plumb::reporting {

[[nodiscard]] std::string change_text(double ratio);  ///< "+2.31 %"
[[nodiscard]] std::string change_interval_text(
    const analysis::MetricComparison& metric);  ///< or "–"
[[nodiscard]] std::string baseline_text(
    const analysis::MetricComparison& metric);  ///< a time, or "–"
[[nodiscard]] std::string candidate_text(const analysis::MetricComparison& metric);
[[nodiscard]] std::string ratio_change_text(const analysis::MetricComparison& metric);
[[nodiscard]] std::string detectable_text(
    const analysis::MetricComparison& metric);  ///< the mde, or "–"
/// Returns the reason of a verdict, and the levels that a metric jumps between.
[[nodiscard]] std::string reason_text(const analysis::MetricComparison& metric);
/// Returns the explanation of a change: the reason and the causes with their shares, on one line.
[[nodiscard]] std::string why_text(const analysis::MetricComparison& metric);

/// Returns the command that measures a layer again.
[[nodiscard]] std::string layer_command(const std::string& key);
/// Returns what is shown of a layer behind its name: "conv1 of lenet, and 2 more: v1:conv;…". A key
/// without a place has no name.
[[nodiscard]] std::string named_key(const std::string& key,
                                    const std::map<std::string, std::string>& places,
                                    const std::string& shown);
/// Returns a key behind its name. Any other text stays as it is.
[[nodiscard]] std::string named_key(const std::string& key,
                                    const std::map<std::string, std::string>& places);

/// Returns whether a metric got worse: broken or regressed.
[[nodiscard]] bool is_worse(const analysis::MetricComparison& metric);
/// Returns whether a metric changed: worse or improved.
[[nodiscard]] bool is_changed(const analysis::MetricComparison& metric);

using MetricList = std::vector<const analysis::MetricComparison*>;
/// Returns what changed: broken, then regressed, then improved. Among these, models come first, and
/// then the larger changes.
[[nodiscard]] MetricList changed_metrics(std::span<const analysis::MetricComparison> metrics);
/// Returns the layers by their ratio, the slowest first. At most `most` of either end are taken.
[[nodiscard]] MetricList extreme_layers(std::span<const analysis::MetricComparison> metrics,
                                        std::size_t most);

/// Numbers of metrics by verdict.
using VerdictCounts = std::map<analysis::ComparisonVerdict, std::size_t>;
[[nodiscard]] VerdictCounts verdict_counts(std::span<const analysis::MetricComparison> metrics);
/// Returns "1 broken, 2 regressed, 0 improved, 40 equivalent, 3 inconclusive".
[[nodiscard]] std::string counts_text(VerdictCounts counts);

/// Returns one sentence on where the minimum effects of layers come from; empty: no layer has one.
[[nodiscard]] std::string floors_text(std::span<const analysis::MetricComparison> metrics);

/// Returns one sentence on the results for the outputs; empty: none was compared.
[[nodiscard]] std::string outputs_text(std::span<const analysis::MetricComparison> metrics);

/// Returns "geometric mean of 606: -7.20 % (-9.90 % … -4.10 %): improved; 190 slower, 416 faster".
[[nodiscard]] std::string overall_text(const analysis::RunComparison::Overall& overall);

/// Returns the failure that both runs have: "unsupported: no file".
[[nodiscard]] std::string failures_text(const analysis::RunComparison::NotCompared& each);

/// Returns what an exclusion of the suite covers in a comparison: "CASE: REASON (until DAY): 1
/// broken, …".
[[nodiscard]] std::string applied_text(const analysis::ComparisonReport::AppliedExclusion& applied);

[[nodiscard]] PageCell::Tone tone_of(analysis::ComparisonVerdict verdict);

/// Adds a table of metrics whose rows make a forest plot. `places` has the place of each layer key.
/// Layers are shown with the command that measures them again. A terminal's table has no causes.
void add_metric_table(const MetricList& metrics,
                      const std::map<std::string, std::string>& places,
                      Page& page);

/// Adds the metrics of models, what changed, and the first layers without a change, then the
/// largest causes.
void add_short_metrics(std::span<const analysis::MetricComparison> metrics,
                       const std::map<std::string, std::string>& places,
                       Page& page);

/// Places of layer keys: "conv1 of lenet, and 2 more".
using PlaceTexts = std::map<std::string, std::string>;

/// Adds how a model's change splits over its layers: a sentence and a table.
void add_attribution(const analysis::RunComparison::Attribution& split,
                     const PlaceTexts& places,
                     Page& page);
/// Returns what a finding explains: "4 layers of 1 model, +43.03 µs".
[[nodiscard]] std::string extent_text(const analysis::RunComparison::Finding& finding);
/// Adds one paragraph for each finding, with its evidence and the names of its first layers. In a
/// comment it is one line.
void add_findings(std::span<const analysis::RunComparison::Finding> findings,
                  const PlaceTexts& places,
                  Page& page);

/// Returns what functions explain of a change, in one sentence without its full stop: "conv1 of
/// lenet regressed by 12 % (9 to 15 %); +11.8 % (+11.0 % to +12.6 %) inside the model: +11.0 % in
/// 'jit:reorder', which the baseline did not execute; +0.8 % unexplained".
[[nodiscard]] std::string function_text(const analysis::FunctionFinding& finding,
                                        const PlaceTexts& places);

/// Adds for each finding its sentence, and on a page a table of its functions.
void add_functions(std::span<const analysis::FunctionFinding> findings,
                   const PlaceTexts& places,
                   Page& page);

}  // namespace plumb::reporting
