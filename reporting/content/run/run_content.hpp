// SPDX-License-Identifier: Apache-2.0
// Private to reporting: the parts of a run's report, and the cells of their tables.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/report/reports.hpp"
#include "reporting/document/page.hpp"

namespace plumb::reporting {

/// Adds models beside each other: bounds, loads, operators, and times against the batch.
void add_overview(const analysis::RunReport& report, Page& page);
/// Adds layers and models under the ceilings of the machine, and what binds them.
void add_roofline(const analysis::RunReport& report, Page& page);
/// Adds latency and throughput of models against their batch, and what was captured of them.
void add_batches(const analysis::RunReport& report, Page& page);
/// Questions about the models of a run.
enum class Question { kBounds, kWhatIfs, kBoth };
/// Adds what is known of each model by itself.
void add_models(const analysis::RunReport& report, Question question, Page& page);
/// Adds a model's bounds, estimates and times by mode, and what makes them less certain.
void add_bounds(const analysis::RunReport::Model& model, Timestamp now, Page& page);
/// Adds drawings of a model against time: its critical path, its schedule, its trace.
void add_timelines(const analysis::RunReport::Model& model, Page& page);
/// Adds the way from a model's time now to its bound, and what changes of its mode bring.
void add_what_ifs(const analysis::RunReport::Model& model, Page& page);
/// Adds the layers that the suite lists by themselves, and the cliffs between them.
void add_single_layers(const analysis::RunReport& report, Page& page);

/// Part of the time of each model.
struct ModelParts {
  std::string name;
  std::vector<std::optional<double>> shares;  ///< by model
};
/// Adds a chart of what parts of a whole the time of each model consists of.
void add_parts(const analysis::RunReport& report,
               const std::string& label,
               const std::string& whole,
               const std::vector<ModelParts>& parts,
               Page& page);

/// Adds a table, if it has rows.
void add_rows(const PageTable& table, Page& page);
/// Adds a table's first rows, if it has any, and how many more there are.
void add_first_rows(PageTable table, std::size_t most, Page& page);
/// Adds the first texts, then "and 37 more".
void add_texts(std::vector<std::string> texts, Page& page);

[[nodiscard]] PageCell count_cell(const std::optional<double>& count);
[[nodiscard]] PageCell ratio_cell(const std::optional<double>& ratio);
[[nodiscard]] PageCell share_cell(const std::optional<double>& share);
/// Makes a cell of a share that is often small, with a decimal.
[[nodiscard]] PageCell small_share_cell(const std::optional<double>& share);
[[nodiscard]] PageCell bytes_cell(const std::optional<Bytes>& amount);
[[nodiscard]] PageCell interval_cell(const measure::Interval& interval);
/// Makes a cell of a time with its relative half-width: "1.234 ms ± 0.4 %". Absent: a dash.
[[nodiscard]] PageCell time_cell(const std::optional<Seconds>& time,
                                 const measure::Interval& interval);
[[nodiscard]] PageCell variant_cell(std::string variant);

/// Returns the first texts, then "and 37 more".
[[nodiscard]] std::vector<std::string> first_texts(std::vector<std::string> texts,
                                                   std::size_t most);
[[nodiscard]] std::string title_of(const analysis::RunReport::Model& model);
[[nodiscard]] std::string name_of(const model::Layer& layer);
[[nodiscard]] const model::Layer& first_layer(const analysis::RunReport::Model& model,
                                              const analysis::PartitionStep& step);
/// Returns whether a step costs nothing: a view, or what acts on weights alone.
[[nodiscard]] bool is_free(const analysis::RunReport::Model& model,
                           const analysis::PartitionStep& step);
/// Returns how many layers of a model have a time: "10 of 12".
[[nodiscard]] std::string completeness_text(const analysis::RunReport::Model& model);
/// Returns the time end to end in mode plain.
[[nodiscard]] std::optional<Seconds> measured_time(const analysis::RunReport::Model& model);

}  // namespace plumb::reporting
