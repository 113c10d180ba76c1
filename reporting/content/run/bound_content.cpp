// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/report/run_json.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/results/execution.hpp"
#include "reporting/content/run/run_content.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::reporting {
namespace {

/// Returns "7.2 ms now; 4.9 ms with fusion; this library's limit 4.0 ms; this machine's limit 3.3
/// ms".
std::string sentence_of(const analysis::ModelSummary& summary) {
  const auto limit_text = [](const std::optional<Seconds>& limit) {
    return limit ? time_text(*limit) : std::string("is not known");
  };
  std::string text = summary.now ? time_text(*summary.now) + " now" : "no time end to end";
  if (summary.fastest != nullptr) {
    text +=
        fmt::format("; {} with {}", time_text(*summary.fastest->measured()), summary.fastest->mode);
  }
  return text + fmt::format("; this library's limit {}; this machine's limit {}",
                            limit_text(summary.library),
                            limit_text(summary.hardware));
}

/// Makes a cell of the time of a mode, or why there is none.
PageCell measured_cell(const analysis::ModelSummary::Mode& mode) {
  return mode.execution != nullptr && !mode.measured()
             ? number_cell(std::string(to_text(mode.execution->outcome.kind)))
             : time_cell(
                   mode.measured(),
                   mode.execution != nullptr ? mode.execution->interval : measure::Interval{});
}

PageCell reading_cell(const analysis::ExecutionTime& execution, const char* reading) {
  const auto found = execution.readings.find(reading);
  return bytes_cell(found == execution.readings.end()
                        ? std::nullopt
                        : std::optional(Bytes{static_cast<std::int64_t>(found->second.median)}));
}

/// Adds the bound, the estimate and the time of each mode, and what a step of training takes of
/// memory, where that was measured.
void add_modes(const analysis::ModelBounds& model,
               const analysis::ModelSummary& summary,
               Page& page) {
  PageTable modes{.head = head_row("mode|#bound|#predicted|#measured|#gap")};
  PageTable memory{.head = head_row("memory|#planned|#to prepare it|#resident")};
  for (const analysis::ModelSummary::Mode& mode : summary.modes) {
    modes.row() << mode.mode << mode.bound << mode.predicted << measured_cell(mode)
                << ratio_cell(mode.gap());
    const analysis::ExecutionTime* const execution = mode.execution;
    if (!model.instance.training.empty() && execution != nullptr &&
        execution->readings.contains(results::kResidentMemory)) {
      memory.row() << mode.mode << bytes_cell(execution->memory)
                   << reading_cell(*execution, results::kPreparationMemory)
                   << reading_cell(*execution, results::kResidentMemory);
    }
  }
  page.table(modes);
  add_rows(memory, page);
}

/// Makes a cell of a time among other shapes. A single time has no interval.
PageCell turn_cell(const analysis::ExecutionTime* execution) {
  if (execution == nullptr) {
    return number_cell("–");
  }
  if (execution->samples == 0) {
    return number_cell(std::string(to_text(execution->outcome.kind)));
  }
  return execution->samples == 1 ? number_cell(time_text(execution->median))
                                 : time_cell(execution->median, execution->interval);
}

/// Adds what executions of other shapes in between cost, by mode.
void add_alternations(const analysis::ModelBounds& model, Page& page) {
  using Turns = std::map<results::SeriesName::Turn, const analysis::ExecutionTime*>;
  std::map<std::string, Turns> modes;
  for (const analysis::ExecutionTime& execution : model.alternations) {
    if (execution.turn) {
      modes[execution.mode][*execution.turn] = &execution;
    }
  }
  PageTable table{.head = head_row("among its shapes|#first|#steady|#after another shape|#change")};
  for (auto& [mode, turns] : modes) {
    const analysis::ExecutionTime* const steady = turns[results::SeriesName::Turn::kSteady];
    const analysis::ExecutionTime* const changed = turns[results::SeriesName::Turn::kChanged];
    table.row() << mode << turn_cell(turns[results::SeriesName::Turn::kFirst]) << turn_cell(steady)
                << turn_cell(changed)
                << number_cell(steady != nullptr && changed != nullptr
                                   ? change_text(changed->median - steady->median)
                                   : "–");
  }
  add_rows(table, page);
}

void add_every_bound(const analysis::ModelBounds& model, Timestamp now, Page& page) {
  PageTable table{.head = head_row("bound|mode|#time|complete|#oldest row|lacks"),
                  .caption = "Every bound and estimate"};
  for (const analysis::Bound& bound : model.bounds) {
    const auto age = bound.oldest_row ? elapsed(*bound.oldest_row, now) : std::nullopt;
    table.row() << to_text(bound.kind) << bound.mode
                << time_cell(analysis::known_time(bound), bound.interval)
                << (bound.complete ? "yes" : "NO")
                << quantity_cell(age ? std::optional(age->count()) : std::nullopt,
                                 [](double seconds) { return duration_text(Seconds(seconds)); })
                << fmt::format("{}", fmt::join(bound.lacks, ", "));
  }
  page.table(table);
}

/// Adds what executed each mode, in the backend's words, and what the runtime logged meanwhile.
void add_executed(const analysis::ModelBounds& model, Page& page) {
  PageTable table{.head = head_row("mode|executed by"), .caption = "What was executed"};
  std::vector<std::string> logged;
  for (const analysis::ExecutionTime& execution : model.executions) {
    results::Attributes attributes = execution.attributes;
    if (const auto log = attributes.extract(results::kSessionLog)) {
      std::istringstream lines(log.mapped());
      for (std::string line; std::getline(lines, line);) {
        logged.push_back(fmt::format("{}: {}", execution.mode, sanitize_utf8(line)));
      }
    }
    if (const std::string text = attribute_text(attributes, {}); !text.empty()) {
      table.row() << execution.mode << text;
    }
  }
  add_rows(table, page);
  add_texts(std::move(logged), page);
}

/// Adds what makes a model's numbers less certain. A terminal says it once for all models, but why
/// a load is INVALID.
void add_findings(const analysis::ModelBounds& model, Page& page) {
  const bool all = page.extent() != Extent::kTerminal;
  if (!all && model.loads.empty()) {
    return;
  }
  add_texts(all ? analysis::all_findings(model) : model.findings, page);
}

void add_untimed(const analysis::ModelBounds& model, Page& page) {
  PageTable table{.head = head_row("layer without a time|reason|key")};
  for (const analysis::ModelBounds::Unsupported& layer : model.unsupported) {
    table.row() << layer.layer << layer.reason << key_cell(layer.key);
  }
  add_rows(table, page);
}

}  // namespace

void add_bounds(const analysis::RunReport::Model& model, Timestamp now, Page& page) {
  const analysis::ModelSummary summary = analysis::summarize(model.bounds);
  page.paragraph(sentence_of(summary));
  if (!model.note.empty()) {
    page.paragraph("Note: " + model.note);
  }
  if (const std::string note = analysis::step_note(model.bounds.instance); !note.empty()) {
    page.paragraph(note);
  }
  if (const auto update = complete_time(model.bounds, results::BoundKind::kHardwareUpdate, "any")) {
    page.paragraph(fmt::format("At least {} of it to update the weights, bound by memory.",
                               time_text(*update)));
  }
  if (page.extent() != Extent::kComment) {
    add_modes(model.bounds, summary, page);
  }
  add_alternations(model.bounds, page);
  if (page.extent() >= Extent::kText) {
    add_every_bound(model.bounds, now, page);
    add_executed(model.bounds, page);
  }
  add_findings(model.bounds, page);
  if (page.extent() != Extent::kTerminal) {
    add_untimed(model.bounds, page);
  }
}

namespace {

using analysis::Json;

/// Work in a time, as a point under a roofline.
struct RooflinePoint {
  std::string name;
  double operations = 0.0;
  double bytes = 0.0;
  std::optional<Seconds> time = {};

  [[nodiscard]] bool known() const {
    return operations > 0.0 && bytes > 0.0 && time && *time > Seconds{};
  }
  [[nodiscard]] double intensity() const { return operations / bytes; }
  [[nodiscard]] Json json() const {
    const double rate = operations / time->count();
    return {{"x", intensity()},
            {"y", rate / 1e9},
            {"text", fmt::format("{}: {}FLOP/s, {}", name, count_text(rate), time_text(*time))}};
  }
};

RooflinePoint point_of(const analysis::RunReport::Model& model,
                       const analysis::PartitionStep& step) {
  RooflinePoint point{title_of(model) + ", " + analysis::name_of(model.graph, step.layers)};
  for (const model::LayerId layer : step.layers) {
    point.operations += model.graph.layers[layer].cost.flops.value;
  }
  if (step.time && !step.key.text.empty()) {
    const model::LayerCost cost = model::compute_cost(model::parse_key(step.key));
    const Bytes bytes = cost.input_bytes + cost.weight_bytes + cost.output_bytes;
    point.bytes = static_cast<double>(bytes.value);
    point.time = step.time->time.median;
  }
  return point;
}

/// Returns a model as a whole: its operations against the bytes that no execution avoids, in its
/// time now.
RooflinePoint whole_of(const analysis::RunReport::Model& model) {
  const std::optional<Seconds> now = measured_time(model);
  return {title_of(model) + ", the whole model",
          model.limits.operations.value,
          static_cast<double>(model.limits.compulsory.value),
          now ? now : complete_time(model.bounds, results::BoundKind::kLibrary, "fusion")};
}

void add_points(const analysis::RunReport& report, double peak, double bandwidth, Page& page) {
  double lowest = 0.1;  // operations a byte
  double highest = 100.0;
  const auto add = [&](const RooflinePoint& point, Json& points) {
    if (point.known()) {
      lowest = std::min(lowest, point.intensity());
      highest = std::max(highest, point.intensity());
      points.push_back(point.json());
    }
  };
  Json models = Json::array();
  Json wholes = Json::array();
  for (const analysis::RunReport::Model& model : report.models) {
    Json points = Json::array();
    for (const analysis::PartitionStep& step : model.bounds.cover) {
      add(point_of(model, step), points);
    }
    models.push_back({{"label", title_of(model)}, {"points", std::move(points)}});
    add(whole_of(model), wholes);
  }
  Json ceilings = Json::array();
  for (const double intensity : {lowest, peak / bandwidth, highest}) {
    ceilings.push_back({{"x", intensity}, {"y", std::min(intensity * bandwidth, peak) / 1e9}});
  }
  page.chart("Roofline: arithmetic rate against arithmetic intensity",
             460,
             "roofline",
             {{"ceilings", ceilings}, {"wholes", wholes}, {"models", models}});
}

void add_limits(const analysis::RunReport& report, Page& page) {
  PageTable table{.head =
                      head_row("model|limit|#operations|#bytes at least|#operations/byte|#ridge")};
  table.caption =
      "What binds the models as a whole. The ridge is where the ceilings of arithmetic and memory "
      "meet. The last columns are shares of the time of a model's steps, by what binds each.";
  std::vector<ModelParts> parts;
  for (const analysis::ModelLimits::Limit limit : analysis::kLimits) {
    ModelParts& part = parts.emplace_back(ModelParts{std::string(to_text(limit)), {}});
    for (const analysis::RunReport::Model& model : report.models) {
      part.shares.emplace_back(model.limits.share(limit));
    }
    table.head << number_cell(part.name);
  }
  add_parts(report,
            "Time of each model by what binds its steps",
            "% of the fused library bound",
            parts,
            page);
  const auto decimal = [](double value) { return fmt::format("{:.1f}", value); };
  for (const analysis::RunReport::Model& model : report.models) {
    const analysis::ModelLimits& limits = model.limits;
    PageRow& row = table.row();
    row << title_of(model) << (limits.limit ? to_text(*limits.limit) : "–")
        << count_cell(limits.operations.value) << bytes_cell(limits.compulsory)
        << quantity_cell(limits.intensity, decimal) << quantity_cell(limits.ridge, decimal);
    for (const analysis::ModelLimits::Limit limit : analysis::kLimits) {
      row << share_cell(limits.share(limit));
    }
  }
  page.table(table);
}

}  // namespace

void add_roofline(const analysis::RunReport& report, Page& page) {
  const double peak = report.calibration ? report.calibration->peak_f32.value : 0.0;
  const double bandwidth = report.calibration ? report.calibration->memory_bandwidth.value : 0.0;
  if (peak <= 0.0 || bandwidth <= 0.0) {
    return;
  }
  if (page.extent() == Extent::kPage) {
    page.heading("Roofline");
    page.paragraph(fmt::format(
        "Each point is one layer, and each diamond a whole model in its time now. The line is the "
        "measured limit of this machine: {}FLOP/s in f32, {}B/s from memory. Points above the "
        "slope were served by caches (hot buffers). Points above the flat part use an algorithm of "
        "fewer operations (Winograd), or the ceiling was measured on a disturbed host. Points far "
        "below the line are slow kernels.",
        count_text(peak),
        count_text(bandwidth)));
    add_points(report, peak, bandwidth, page);
  }
  add_limits(report, page);
}

}  // namespace plumb::reporting
