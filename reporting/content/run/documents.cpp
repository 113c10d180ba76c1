// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/run/documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/report/reports.hpp"
#include "harness/analysis/report/run_json.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/page.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::reporting {
namespace {

/// Returns the number of layers, and how many of them an execution has left to do.
std::string layers_text(const model::Graph::Totals& sums) {
  std::string text = fmt::format("{} layers", sums.layers);
  if (sums.folded_layers > 0) {
    text +=
        fmt::format(" ({} live, {} folded)", sums.layers - sums.folded_layers, sums.folded_layers);
  }
  return text;
}

}  // namespace

void write_model_list(std::span<const ModelListing> models, OutputMode style, std::ostream& out) {
  if (style == OutputMode::kJson) {
    return write_json(model_list_document(models), out);
  }
  AlignedTable table({{"model"}, {"task"}, {"axes"}, {"source"}, {"MLPerf rounds"}});
  for (const ModelListing& model : models) {
    std::string axes = "batch=1";
    for (const auto& [name, standard] : model.axes) {
      axes += fmt::format(" {}={}", name, standard);
    }
    table.add({model.name, model.task, axes, model.source, model.rounds});
  }
  table.write(out);
}

void write_model(const model::Graph& graph, OutputMode style, std::ostream& out) {
  if (style == OutputMode::kJson) {
    return write_json(model_document(graph), out);
  }
  const model::Graph::Totals sums = model::totals(graph);
  out << fmt::format("{}  opset {}  {}, {} unique  {}{}MACs  {} parameters ({})\n",
                     sanitize_utf8(graph.name),
                     graph.opset,
                     layers_text(sums),
                     sums.unique_layers,
                     sums.macs_saturated ? "more than " : "",
                     count_text(static_cast<double>(sums.macs)),
                     count_text(static_cast<double>(graph.parameters)),
                     bytes_text(graph.weight_bytes));
  const auto describe_values = [&](const char* what, const std::vector<model::ValueId>& ids) {
    for (const model::ValueId id : ids) {
      const model::Value& value = graph.values[id];
      out << fmt::format("{} {} {}[{}]\n",
                         what,
                         sanitize_utf8(value.name),
                         value.type_known ? to_text(value.type.dtype) : "?",
                         value.shape_known ? fmt::format("{}", fmt::join(value.type.dims, ","))
                                           : std::string("?"));
    }
  };
  describe_values("input ", graph.inputs);
  describe_values("output", graph.outputs);
  for (const auto& [op, count] : sums.ops) {
    out << fmt::format("  {:5} {}\n", count, sanitize_utf8(op));
  }
  AlignedTable table({{"layer"}, {"op"}, {"MACs", true}, {"bytes", true}, {"key"}});
  for (const model::Layer& layer : graph.layers) {
    const Bytes bytes = layer.cost.input_bytes + layer.cost.weight_bytes + layer.cost.output_bytes;
    const std::string key =
        layer.role == model::Layer::Role::kFolded        ? "folded: acts on weights only"
        : layer.role == model::Layer::Role::kUnsupported ? "unsupported: " + layer.reason
                                                         : layer.key.text;
    table.add({layer.name,
               layer.onnx_op,
               count_text(static_cast<double>(layer.cost.macs)),
               bytes_text(bytes),
               key});
  }
  table.write(out);
}

void write_runs(std::span<const results::RunRecord> runs, OutputMode style, std::ostream& out) {
  if (style == OutputMode::kJson) {
    return write_json(runs_document(runs), out);
  }
  std::vector<AlignedTable::Column> columns{{"run"},
                                            {"kind"},
                                            {"suite"},
                                            {"stack"},
                                            {"environment"},
                                            {"started"},
                                            {"state"},
                                            {"ok", true},
                                            {"failed", true},
                                            {"reused", true},
                                            {"tags"}};
  const bool labelled = std::any_of(runs.begin(), runs.end(), [](const results::RunRecord& run) {
    return !results::run_labels(run.header.environment).empty();
  });
  if (labelled) {
    columns.push_back({"labels"});
  }
  AlignedTable table(std::move(columns));
  for (const results::RunRecord& run : runs) {
    std::vector<std::string> cells{run.header.id,
                                   std::string(to_text(analysis::run_kind(run.header))),
                                   run.header.suite,
                                   run.header.stack,
                                   run.header.environment.id(),
                                   to_text(run.header.started).substr(0, 19) + "Z",
                                   std::string(to_text(run.state)),
                                   std::to_string(run.rows_ok),
                                   std::to_string(run.rows_failed),
                                   std::to_string(run.rows_reused),
                                   fmt::format("{}", fmt::join(run.tags, " "))};
    if (labelled) {
      cells.push_back(results::to_text(results::run_labels(run.header.environment)));
    }
    table.add(std::move(cells));
  }
  table.write(out);
}

void write_environment(const results::Environment& environment,
                       OutputMode style,
                       bool explain,
                       std::ostream& out) {
  if (style == OutputMode::kJson) {
    return write_json(environment_document(environment), out);
  }
  out << fmt::format(
      "environment {}\n\nidentity{}\n",
      environment.id(),
      explain ? ": hashed. Two runs belong to one environment if and only if all of it is equal"
              : "");
  for (const auto& [name, value] : environment.identity) {
    out << fmt::format("  {:<24} {}\n", name, sanitize_utf8(value));
  }
  out << fmt::format("\nrecorded{}\n",
                     explain ? ": shown in diffs when runs are compared, never hashed" : "");
  for (const auto& [name, value] : environment.facts) {
    out << fmt::format("  {:<24} {}\n", name, sanitize_utf8(value));
  }
}

void write_layer(const model::LayerKey& key,
                 std::span<const results::Measurement> rows,
                 const results::Environment& environment,
                 OutputMode style,
                 bool all,
                 std::ostream& out) {
  if (style == OutputMode::kJson) {
    return write_json(layer_document(key, rows, environment), out);
  }
  constexpr std::size_t kShown = 10;
  std::vector<const results::Measurement*> sorted;
  for (const results::Measurement& row : rows) {
    if (row.purpose != results::Purpose::kRace || !row.outcome.timed()) {
      sorted.push_back(&row);
    }
  }
  std::stable_sort(sorted.begin(),
                   sorted.end(),
                   [](const results::Measurement* a, const results::Measurement* b) {
                     if (a->outcome.timed() != b->outcome.timed()) {
                       return a->outcome.timed();
                     }
                     return a->outcome.timed() && a->summary.median < b->summary.median;
                   });
  const model::LayerCost cost = model::compute_cost(model::parse_key(key));
  out << fmt::format("{}\n{}MACs  environment {}\n\n",
                     key.text,
                     count_text(static_cast<double>(cost.macs)),
                     environment.id());
  AlignedTable table({{"variant"},
                      {"time", true},
                      {"n", true},
                      {"GFLOP/s", true},
                      {"creation", true},
                      {"reorder", true},
                      {"workspace", true},
                      {"outcome"}});
  std::vector<const results::Measurement*> shown = sorted;
  if (!all && sorted.size() > kShown) {
    const auto left_out = shown.begin() + static_cast<std::ptrdiff_t>(kShown);
    shown.erase(
        std::remove_if(left_out, shown.end(), [](const auto* row) { return !row->library_choice; }),
        shown.end());
  }
  for (const results::Measurement* row : shown) {
    const measure::SampleSummary time = row->corrected();
    const bool timed = row->outcome.timed() && time.n > 0;
    const double rate =
        timed && time.median.count() > 0 ? cost.flops.value / time.median.count() / 1e9 : 0.0;
    const std::string outcome =
        fmt::format("{}{}{}",
                    to_text(row->outcome.kind),
                    row->library_choice ? ", the library's choice" : "",
                    row->outcome.reason.empty() ? "" : ": " + row->outcome.reason);
    table.add({row->variant.empty() ? "–" : row->variant,
               timed ? with_interval(time) : "–",
               timed ? std::to_string(time.n) : "–",
               timed ? fmt::format("{:.1f}", rate) : "–",
               row->creation ? time_text(*row->creation) : "–",
               row->reorder ? time_text(*row->reorder) : "–",
               bytes_text(row->workspace),
               outcome});
  }
  table.write(out);
  bool first = true;
  for (const results::Measurement* row : shown) {
    const std::string text = attribute_text(row->attributes, row->readings);
    if (!text.empty() && (all || row == shown.front() || row->library_choice)) {
      out << fmt::format("{}{}: {}\n", std::exchange(first, false) ? "\n" : "", row->variant, text);
    }
  }
  if (shown.size() < sorted.size()) {
    const auto untimed = std::count_if(
        sorted.begin(), sorted.end(), [](const auto* row) { return !row->outcome.timed(); });
    out << fmt::format("\n{} more variants{}: plumb layer --all\n",
                       sorted.size() - shown.size(),
                       untimed > 0 ? fmt::format(", {} of them without a time", untimed) : "");
  }
}

void write_baselines(std::span<const analysis::RunReport::Baseline> entries,
                     OutputMode style,
                     std::ostream& out) {
  if (style == OutputMode::kText) {
    AlignedTable table(
        {{"baseline"}, {"run"}, {"suite"}, {"stack"}, {"accepted"}, {"by"}, {"reason"}});
    for (const analysis::RunReport::Baseline& entry : entries) {
      table.add({entry.name + (entry.current ? "" : " (before)"),
                 entry.run.id,
                 entry.run.suite,
                 entry.run.stack,
                 entry.accepted ? to_text(*entry.accepted) : "–",
                 entry.who.empty() ? "–" : entry.who,
                 entry.reason.empty() ? "–" : entry.reason});
    }
    table.write(out);
    return;
  }
  analysis::Json rows = analysis::Json::array();
  for (const analysis::RunReport::Baseline& entry : entries) {
    rows.push_back(
        {{"name", entry.name},
         {"run", entry.run.id},
         {"suite", entry.run.suite},
         {"stack", entry.run.stack},
         {"environment", entry.run.environment.id()},
         {"current", entry.current},
         {"accepted", entry.accepted ? analysis::Json(to_text(*entry.accepted)) : analysis::Json()},
         {"who", analysis::text_or_null(entry.who)},
         {"reason", analysis::text_or_null(entry.reason)},
         {"previous", analysis::text_or_null(entry.previous)}});
  }
  write_json(analysis::Json{{"schema_version", analysis::kJsonSchemaVersion},
                            {"baselines", std::move(rows)}},
             out);
}

std::string exclusion_text(const results::Exclusion& exclusion, bool expired) {
  return fmt::format("{}: {} ({}{}{})",
                     exclusion.match,
                     exclusion.reason,
                     exclusion.who.empty() ? "" : exclusion.who + ", ",
                     expired ? "expired after " : "until ",
                     exclusion.until);
}

namespace {

std::string time_or_dash(const std::optional<Seconds>& time) {
  return time ? time_text(*time) : "–";
}

}  // namespace

std::string score_text(const results::ScenarioResult& load) {
  const std::optional<results::ScenarioResult::Score> score = results::compute_score(load);
  if (!score || !score->value) {
    return "–";
  }
  const loadgen::EffectiveLoad& effective = load.result->load;
  switch (effective.scenario) {
    case loadgen::RequestedLoad::Scenario::kSingleStream:
    case loadgen::RequestedLoad::Scenario::kMultiStream:
      return fmt::format(
          "{:g} % ≤ {}", effective.rule.percentile, time_text(Seconds(*score->value)));
    case loadgen::RequestedLoad::Scenario::kServer:
      return fmt::format("{:.4g} queries/s ({:g} % ≤ {})",
                         *score->value,
                         effective.rule.percentile,
                         time_or_dash(effective.latency_limit));
    case loadgen::RequestedLoad::Scenario::kOffline:
      return fmt::format("{:.4g} samples/s", *score->value);
  }
  return "–";
}

std::string verdict_text(const results::ScenarioResult& load) {
  switch (judge_load(load)) {
    case results::ScenarioResult::Verdict::kValid:
      return "VALID";
    case results::ScenarioResult::Verdict::kFailed:
    case results::ScenarioResult::Verdict::kInconclusive:
      return "INVALID";
    case results::ScenarioResult::Verdict::kNotExecuted:
      return std::string(to_text(load.outcome.kind));
  }
  return "–";
}

namespace {

std::string times_text(const measure::SampleSummary& time) {
  return fmt::format("{} | {} to {} | {}",
                     time_text(time.median),
                     time_text(time.interval.low),
                     time_text(time.interval.high),
                     time.n);
}

void write_facts(const char* title, const results::Facts& facts, std::ostream& out) {
  out << fmt::format("\n## {}\n\n| fact | value |\n| --- | --- |\n", title);
  for (const auto& [name, value] : facts) {
    out << fmt::format("| {} | {} |\n", markdown_cell(name), markdown_cell(value));
  }
}

}  // namespace

void write_reproducer_readme(const model::LayerKey& key,
                             std::span<const results::Measurement> rows,
                             const results::Environment& environment,
                             const std::string& stack,
                             const std::string& instructions,
                             std::ostream& out) {
  out << fmt::format("# Reproducer\n\n{}\n\n", markdown_code(key.text));
  out << "One execution of the layer, on warm buffers. Raw times include the cost of a call from "
         "the outside, like the program's times. Net times do not. Intervals: 95 %.\n\n| variant | "
         "net median | interval | n | raw median | largest error | output |\n| --- | --- | --- | "
         "--- | --- | --- | --- |\n";
  for (const results::Measurement& row : rows) {
    out << fmt::format("| {}{} | {} | {} | {} | {} |\n",
                       markdown_cell(row.variant),
                       row.library_choice ? " (the library's choice)" : "",
                       times_text(row.corrected()),
                       time_text(row.summary.median),
                       row.maximum_error ? fmt::format("{:.3g}", *row.maximum_error) : "–",
                       row.output_hash.empty() ? "–" : markdown_cell(row.output_hash));
  }
  out << "\nn counts samples. The largest error is relative to the largest element of a reference "
         "in float64. The output is the XXH64 of its bytes. `row.json` holds the rows, and "
         "`api.log` (if there is one) the library's own log of the calls.\n\n## Build and run\n\n"
      << instructions;
  out << fmt::format("\n## Measured with\n\nThe stack {}, environment {}.\n",
                     markdown_code(stack),
                     environment.id());
  write_facts("Identity", environment.identity, out);
  write_facts("Recorded", environment.facts, out);
}

}  // namespace plumb::reporting
