// SPDX-License-Identifier: Apache-2.0
// The text and the JSON of `plumb bound`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iosfwd>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/bounds/model_summary.hpp"
#include "harness/analysis/report/run_kind.hpp"
#include "harness/analysis/report/run_report.hpp"
#include "harness/loadgen/mlperf/mlperf_words.hpp"
#include "harness/results/execution.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/content/run/exclusion_rows.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/content/run/load_rows.hpp"
#include "reporting/content/run/report_writers.hpp"
#include "reporting/content/run/run_content.hpp"
#include "reporting/document/aligned_table.hpp"
#include "reporting/document/quantity_text.hpp"
#include "reporting/document/sanitized_text.hpp"
#include "reporting/formats/text_page.hpp"

namespace plumb::reporting {
namespace {

constexpr const char* kUnknown = "–";

std::string share_cell(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f} %", 100.0 * *share) : kUnknown;
}

std::string intensity_cell(const std::optional<double>& intensity) {
  return intensity ? fmt::format("{:.1f}", *intensity) : kUnknown;
}

std::string limit_cell(const std::optional<analysis::Limit>& limit) {
  return limit ? std::string(to_text(*limit)) : kUnknown;
}

/// Returns "compute 71 %, memory 20 %, latency 9 % of the time".
std::string spread_of(const analysis::ModelLimits& limits) {
  std::vector<std::string> parts;
  for (const analysis::Limit limit : analysis::kLimits) {
    if (const double share = limits.share(limit); share > 0.0) {
      parts.push_back(fmt::format("{} {:.0f} %", to_text(limit), 100.0 * share));
    }
  }
  if (const double share = limits.share(std::nullopt); share > 0.0) {
    parts.push_back(fmt::format("not known {:.0f} %", 100.0 * share));
  }
  return fmt::format("{} of the time", fmt::join(parts, ", "));
}

/// Writes which steps compute on channels that are only padding, and what whole blocks bring.
void write_blocks(const analysis::ModelReport& model, std::ostream& out) {
  std::vector<const analysis::StepLimit*> steps;
  Seconds all{};
  for (const analysis::StepLimit& step : model.limits.steps) {
    if (step.block_use) {
      steps.push_back(&step);
      all += step.seconds;
    }
  }
  if (steps.empty()) {
    return;
  }
  out << fmt::format("  blocks of channels that are not full: {} step{}, {} together\n",
                     steps.size(),
                     steps.size() == 1 ? "" : "s",
                     time_text(all));
  AlignedTable table({{"  step"}, {"block use", true}, {"time", true}, {"padded", true}});
  constexpr std::size_t kMost = 5;
  for (std::size_t i = 0; i < std::min(kMost, steps.size()); ++i) {
    table.add({"  " + sanitize_utf8(analysis::name_of(model.graph, steps[i]->layers)),
               share_cell(steps[i]->block_use),
               time_text(steps[i]->seconds),
               steps[i]->padded_seconds ? time_text(*steps[i]->padded_seconds) : kUnknown});
  }
  table.write(out);
}

/// Writes what binds a model, how its time is spread over the limits, and its slowest steps. Writes
/// nothing of a model without a step that has a time.
void write_limits(const analysis::ModelReport& model, std::ostream& out) {
  const analysis::ModelLimits& limits = model.limits;
  if (limits.steps.empty()) {
    return;
  }
  out << fmt::format("  limits of its steps: {}\n", spread_of(limits));
  out << fmt::format("  the model: {} operations, {} at least, {} operations a byte",
                     count_text(limits.operations.value),
                     bytes_text(limits.compulsory),
                     intensity_cell(limits.intensity));
  if (limits.ridge && limits.limit) {
    out << fmt::format("; {} binds it (the ceilings meet at {})",
                       to_text(*limits.limit),
                       intensity_cell(limits.ridge));
  }
  out << '\n';
  AlignedTable table({{"  slowest steps"},
                      {"time", true},
                      {"limit"},
                      {"operations/byte", true},
                      {"of peak", true},
                      {"of bandwidth", true}});
  constexpr std::size_t kMost = 5;
  for (std::size_t i = 0; i < std::min(kMost, limits.steps.size()); ++i) {
    const analysis::StepLimit& step = limits.steps[i];
    table.add({"  " + sanitize_utf8(analysis::name_of(model.graph, step.layers)),
               time_text(step.seconds),
               limit_cell(step.limit),
               intensity_cell(step.intensity),
               share_cell(step.peak_share),
               share_cell(step.bandwidth_share)});
  }
  table.write(out);
  write_blocks(model, out);
}

std::string age_of(const std::optional<Timestamp>& row, Timestamp now) {
  return row ? age_text(*row, now) : kUnknown;
}

std::string limit_cell(const std::optional<Seconds>& time) {
  return time ? time_text(*time) : kUnknown;
}

std::string header_of(const analysis::ModelBounds& model) {
  return fmt::format("{}  ({} of {} layers)\n",
                     sanitize_utf8(to_text(model.instance, "  ")),
                     model.measured_layers,
                     model.total_layers);
}

void write_loads_of(const analysis::ModelBounds& model, std::ostream& out) {
  if (model.loads.empty()) {
    return;
  }
  AlignedTable table({{"  scenario"},
                      {"mode"},
                      {"verdict"},
                      {"score"},
                      {"median", true},
                      {"99 %", true},
                      {"queries", true}});
  for (const results::ScenarioResult& load : model.loads) {
    std::vector<std::string> cells = load_cells(load);
    cells.front().insert(0, "  ");
    table.add(std::move(cells));
  }
  table.write(out);
  out << "  " << loadgen::kMlperfUnverified << '\n';
}

/// Returns "7.2 ms now; 4.9 ms with fusion; this library's limit 4.0 ms; this machine's limit 3.3
/// ms".
std::string sentence_of(const analysis::ModelSummary& summary) {
  std::string text = summary.now ? time_text(*summary.now) + " now" : "no time end to end";
  if (summary.fastest != nullptr) {
    text += fmt::format("; {} with {}",
                        time_text(*summary.fastest->measured()),
                        sanitize_utf8(summary.fastest->mode));
  }
  text += "; this library's limit " +
          (summary.library ? time_text(*summary.library) : std::string("is not known"));
  return text + "; this machine's limit " +
         (summary.hardware ? time_text(*summary.hardware) : std::string("is not known"));
}

void write_findings(const std::vector<std::string>& findings, std::ostream& out) {
  for (const std::string& finding : findings) {
    out << "  ! " << sanitize_utf8(finding) << '\n';
  }
}

std::string measured_cell(const analysis::ModeSummary& mode) {
  if (mode.execution == nullptr) {
    return kUnknown;
  }
  return mode.measured() ? with_interval(mode.execution->median, mode.execution->interval)
                         : std::string(to_text(mode.execution->outcome.kind));
}

/// Writes what a step of training takes of memory, mode by mode.
void write_memory_of(const analysis::ModelBounds& model, std::ostream& out) {
  AlignedTable table(
      {{"  memory"}, {"planned", true}, {"to prepare it", true}, {"resident", true}});
  bool measured = false;
  for (const analysis::ExecutionTime& execution : model.executions) {
    const auto read = [&](const char* reading) {
      const auto found = execution.readings.find(reading);
      return found == execution.readings.end()
                 ? std::string(kUnknown)
                 : bytes_text(Bytes{static_cast<std::int64_t>(found->second.median)});
    };
    if (execution.readings.contains(results::kResidentMemory)) {
      measured = true;
      table.add({"  " + sanitize_utf8(execution.mode),
                 bytes_text(execution.memory),
                 read(results::kPreparationMemory),
                 read(results::kResidentMemory)});
    }
  }
  if (!model.instance.training.empty() && measured) {
    table.write(out);
  }
}

void write_summary_of(const analysis::ModelBounds& model, std::ostream& out) {
  const analysis::ModelSummary summary = summarize(model);
  out << header_of(model) << "  " << sentence_of(summary) << '\n';
  const analysis::Bound* const update =
      find_complete(model, results::BoundKind::kHardwareUpdate, "any");
  if (update != nullptr) {
    out << fmt::format("  at least {} of it to update the weights, bound by memory\n",
                       time_text(update->seconds));
  }
  AlignedTable table(
      {{"  mode"}, {"bound", true}, {"predicted", true}, {"measured", true}, {"gap", true}});
  for (const analysis::ModeSummary& mode : summary.modes) {
    const std::optional<double> gap = mode.gap();
    table.add({"  " + mode.mode,
               limit_cell(mode.bound),
               limit_cell(mode.predicted),
               measured_cell(mode),
               gap ? ratio_text(*gap) : kUnknown});
  }
  table.write(out);
  write_memory_of(model, out);
  write_loads_of(model, out);
  if (!model.loads.empty()) {
    write_findings(model.findings, out);  // why a load is INVALID
  }
  out << '\n';
}

void write_all_of(const analysis::ModelReport& report, Timestamp now, std::ostream& out) {
  const analysis::ModelBounds& model = report.bounds;
  out << header_of(model);
  AlignedTable table(
      {{"  bound"}, {"mode"}, {"time", true}, {"complete"}, {"oldest row", true}, {"lacks"}});
  for (const analysis::Bound& bound : model.bounds) {
    table.add(
        {"  " + std::string(to_text(bound.kind)),
         bound.mode,
         analysis::known_time(bound) ? with_interval(bound.seconds, bound.interval) : kUnknown,
         bound.complete ? "yes" : "NO",
         age_of(bound.oldest_row, now),
         fmt::format("{}", fmt::join(bound.lacks, ", "))});
  }
  for (const analysis::ExecutionTime& execution : model.executions) {
    const bool known = execution.samples > 0;
    table.add({"  end to end",
               execution.mode,
               known ? with_interval(execution.median, execution.interval) : kUnknown,
               "measured",
               kUnknown,
               ""});
  }
  table.write(out);
  write_limits(report, out);
  write_loads_of(model, out);
  write_findings(analysis::all_findings(model), out);
  constexpr std::size_t kMost = 5;
  for (std::size_t i = 0; i < std::min(kMost, model.unsupported.size()); ++i) {
    const auto& layer = model.unsupported[i];
    out << fmt::format(
        "  no time for {}: {}\n", sanitize_utf8(layer.layer), sanitize_utf8(layer.reason));
  }
  if (model.unsupported.size() > kMost) {
    out << fmt::format("  … and {} more\n", model.unsupported.size() - kMost);
  }
  out << '\n';
}

/// Returns "1 of 7 models" or "3 of 7 models" for the models that `is` selects; empty for none.
template <typename Is>
std::string models_where(const analysis::RunReport& report, Is&& is) {
  const auto count = std::count_if(
      report.models.begin(), report.models.end(), [&](const analysis::ModelReport& model) {
        return is(model.bounds);
      });
  return count == 0 ? std::string()
                    : fmt::format("{} of {} model{}",
                                  count,
                                  report.models.size(),
                                  report.models.size() == 1 ? "" : "s");
}

/// Writes once, for all models, what makes their numbers less certain.
void write_notes(const analysis::RunReport& report, std::ostream& out) {
  const auto note = [&](const std::string& models, std::string_view text) {
    if (!models.empty()) {
      out << models << ": " << text << '\n';
    }
  };
  if (!analysis::is_point_of_history(report.run.header)) {
    out << "this run " << analysis::why_no_history(report.run.header) << '\n';
  }
  note(models_where(report,
                    [](const analysis::ModelBounds& model) { return !model.disturbances.empty(); }),
       "disturbed or unstable; run again when the host is quiet");
  note(models_where(report,
                    [](const analysis::ModelBounds& model) { return !model.unsupported.empty(); }),
       "some layers have no time, so the numbers that depend on them are not known");
  note(models_where(report,
                    [](const analysis::ModelBounds& model) { return !model.findings.empty(); }),
       "findings");
  std::optional<Timestamp> oldest;
  for (const analysis::ModelReport& model : report.models) {
    for (const analysis::Bound& bound : model.bounds.bounds) {
      oldest =
          bound.oldest_row && (!oldest || *bound.oldest_row < *oldest) ? bound.oldest_row : oldest;
    }
  }
  if (!report.models.empty()) {
    out << "plumb bound --all: every bound with its interval, completeness and age, and all "
           "findings; oldest row: "
        << age_of(oldest, report.now) << '\n';
  }
}

}  // namespace

void write_bounds(const analysis::RunReport& report,
                  OutputMode style,
                  std::ostream& out,
                  Detail detail) {
  if (style == OutputMode::kJson) {
    return write_json(analysis::bounds_document(report), out);
  }
  out << fmt::format("run {}  suite {}  stack {}  environment {}\n\n",
                     report.run.header.id,
                     sanitize_utf8(report.run.header.suite),
                     sanitize_utf8(report.run.header.stack),
                     report.run.header.environment.id());
  for (const analysis::ModelReport& model : report.models) {
    if (detail == Detail::kAll) {
      write_all_of(model, report.now, out);
    } else {
      write_summary_of(model.bounds, out);
    }
  }
  TextPage page;
  if (detail == Detail::kAll) {
    add_batches(report, page);
  }
  add_single_layers(report, page);
  page.write(out);
  if (detail == Detail::kShort) {
    write_notes(report, out);
  }
  out << exclusion_lines(report.exclusions, analysis::day_of(report.run.header));
}

}  // namespace plumb::reporting
