// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <sstream>

#include "harness/loadgen/mlperf/mlperf_words.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "reporting/content/run/exclusion_rows.hpp"
#include "reporting/content/run/load_rows.hpp"
#include "reporting/content/run/report_writers.hpp"
#include "reporting/content/run/single_layers.hpp"
#include "reporting/content/samples/listing_content.hpp"
#include "reporting/document/markdown_text.hpp"
#include "reporting/document/quantity_text.hpp"

namespace plumb::reporting {
namespace {

std::string bound_cell(const analysis::ModelBounds& model,
                       results::BoundKind kind,
                       std::string_view mode) {
  const analysis::Bound* const bound = find_bound(model, kind, mode);
  const std::optional<Seconds> time =
      bound == nullptr ? std::nullopt : analysis::known_time(*bound);
  return time ? time_text(*time) + (bound->complete ? "" : " (incomplete)") : "–";
}

std::string execution_cell(const analysis::ModelBounds& model, std::string_view mode) {
  for (const analysis::ExecutionTime& execution : model.executions) {
    if (execution.mode == mode && execution.samples > 0) {
      return time_text(execution.median);
    }
  }
  return "–";
}

std::string overview(const analysis::RunReport& report) {
  std::string text =
      "| model | batch | type | layers | hardware | library (fusion) | library (plain) | parallel "
      "| predicted | end to end (plain) |\n"
      "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  std::size_t listed = 0;
  for (const analysis::ModelReport& model : report.models) {
    const analysis::ModelBounds& b = model.bounds;
    if (text.size() > kMarkdownLimit / 2) {
      text += fmt::format("\nand {} more models\n", report.models.size() - listed);
      break;
    }
    ++listed;
    std::string name = markdown_cell(full_name(b.instance));
    for (const auto& [axis, extent] : b.instance.dims) {
      name += fmt::format(", {} {}", markdown_cell(axis), extent);
    }
    text += fmt::format("| {} | {} | {} | {} of {} | {} | {} | {} | {} | {} | {} |\n",
                        name,
                        b.instance.batch,
                        markdown_cell(b.instance.dtype),
                        b.measured_layers,
                        b.total_layers,
                        bound_cell(b, results::BoundKind::kHardware, "any"),
                        bound_cell(b, results::BoundKind::kLibrary, "fusion"),
                        bound_cell(b, results::BoundKind::kLibrary, "plain"),
                        bound_cell(b, results::BoundKind::kLibraryParallel, "fusion"),
                        bound_cell(b, results::BoundKind::kPredicted, "plain"),
                        execution_cell(b, "plain"));
  }
  return text;
}

std::string slowest_layers(const analysis::ModelBounds& model) {
  constexpr std::size_t kMost = 5;
  std::vector<const analysis::PartitionStep*> steps;
  for (const analysis::PartitionStep& step : model.cover) {
    if (step.time) {
      steps.push_back(&step);
    }
  }
  std::stable_sort(steps.begin(),
                   steps.end(),
                   [](const analysis::PartitionStep* a, const analysis::PartitionStep* b) {
                     return a->time->time.median > b->time->time.median;
                   });
  std::string text = "\n| slowest layers | time | variant |\n| --- | ---: | --- |\n";
  for (std::size_t i = 0; i < std::min(kMost, steps.size()); ++i) {
    text += fmt::format("| {} | {} | {} |\n",
                        markdown_code(steps[i]->key.text),
                        time_text(steps[i]->time->time.median),
                        markdown_cell(steps[i]->time->variant));
  }
  if (steps.size() > kMost) {
    text += fmt::format("\nand {} more\n", steps.size() - kMost);
  }
  return text;
}

std::string loads_table(const analysis::ModelBounds& model) {
  if (model.loads.empty()) {
    return "";
  }
  std::string text =
      "\n| scenario | mode | verdict | score | median | 99 % | queries |\n"
      "| --- | --- | --- | --- | ---: | ---: | ---: |\n";
  for (const results::ScenarioResult& load : model.loads) {
    std::string row = "|";
    for (const std::string& each : load_cells(load)) {
      row += " " + markdown_cell(each) + " |";
    }
    text += row + "\n";
  }
  return text + fmt::format("\n{}\n", loadgen::kMlperfUnverified);
}

/// Returns the listing of the function with most samples. Empty: the run has no profile.
std::string hottest_function(const analysis::ModelReport& model) {
  constexpr std::size_t kInstructions = 20;
  if (!model.profile) {
    return "";
  }
  if (model.profile->listings.empty()) {
    return fmt::format("\n{}\n", kNoListings);
  }
  const ListingContent content = describe_listing(analysis::list_shares(
      *model.profile, results::shorten_listing(model.profile->listings.front(), kInstructions)));
  std::string text = fmt::format("\nHottest function: {}\n\n", markdown_cell(content.title));
  for (const std::string& note : content.notes) {
    text += fmt::format("- {}\n", markdown_cell(note));
  }
  if (!content.rows.empty()) {
    std::ostringstream rows;
    write_listing_rows(content.rows, rows);
    text += "\n" + markdown_block(std::move(rows).str());
  }
  return text;
}

std::string model_section(const analysis::ModelReport& model) {
  std::string text =
      fmt::format("\n### {}\n\n", markdown_cell(to_text(model.bounds.instance, ", ")));
  std::vector<std::string> notes = analysis::all_findings(model.bounds);
  for (const auto& layer : model.bounds.unsupported) {
    notes.push_back(fmt::format("no time for {}: {}", layer.layer, layer.reason));
  }
  constexpr std::size_t kMaxNotes = 20;
  for (std::size_t i = 0; i < std::min(kMaxNotes, notes.size()); ++i) {
    text += "- " + markdown_cell(notes[i]) + "\n";
  }
  if (notes.size() > kMaxNotes) {
    text += fmt::format("- and {} more\n", notes.size() - kMaxNotes);
  }
  text += loads_table(model.bounds);
  text +=
      "\n| what if | saves | now, priced | predicted | speed-up | now, measured | realised | "
      "speed-up | error | how |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n";
  for (const analysis::WhatIfResult& result : model.whatifs.whatifs) {
    const bool known = result.why_not.empty();
    const std::optional<Seconds> saving = analysis::predicted_saving(result);
    const std::string how =
        result.command.empty() ? "" : " (" + markdown_code(result.command) + ")";
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
                    markdown_cell(result.name),
                    saving ? time_text(*saving) : "–",
                    result.baseline ? time_text(*result.baseline) : "–",
                    known && result.predicted ? time_text(*result.predicted) : "–",
                    known && result.predicted_speedup ? ratio_text(*result.predicted_speedup) : "–",
                    result.realised_baseline ? time_text(*result.realised_baseline) : "–",
                    result.realised ? time_text(*result.realised) : "–",
                    result.realised_speedup ? ratio_text(*result.realised_speedup) : "–",
                    prediction_error_text(result),
                    markdown_cell(known ? result.mode : "not known: " + result.why_not) + how);
  }
  return text + slowest_layers(model.bounds) + hottest_function(model);
}

/// Returns a table of the layers that the suite lists by themselves, as many as `room` bytes hold.
std::string layers_section(const analysis::RunReport& report, std::size_t room) {
  std::string text =
      "\n### Single layers\n\n| layer | count | time | MAC/s | ÷ hardware | variant |\n"
      "| --- | ---: | ---: | ---: | ---: | --- |\n";
  std::size_t listed = 0;
  for (const analysis::SingleLayerResult& result : report.layers) {
    const std::string row =
        fmt::format("| {} | {} | {} | {} | {} | {} |\n",
                    markdown_code(result.layer.key.text),
                    result.layer.count,
                    result.time ? time_text(result.time->time.median) : "–",
                    rate_text(result),
                    ratio_to_hardware(result),
                    markdown_cell(result.time ? result.time->variant : result.reason));
    if (text.size() + row.size() + 100 > room) {
      break;
    }
    text += row;
    ++listed;
  }
  if (listed < report.layers.size()) {
    text +=
        fmt::format("\nand {} more: the HTML report has them all\n", report.layers.size() - listed);
  }
  return text;
}

/// Returns the labels of a run: " · branch main · commit 4f2a9c01d3b7", the commit as a link.
std::string labels_text(const analysis::RunReport& report) {
  std::string text;
  for (const auto& [name, value] : results::run_labels(report.run.header.environment)) {
    text += fmt::format(" · {} {}",
                        markdown_cell(name),
                        name == "commit" ? markdown_link(results::short_commit(value),
                                                         report.commits.address(value))
                                         : markdown_cell(value));
  }
  return text;
}

}  // namespace

void write_markdown_report(const analysis::RunReport& report, std::ostream& out) {
  const results::RunHeader& header = report.run.header;
  std::string text = fmt::format(
      "## Plumbline: {}\n\nrun {} · stack {} · environment {} · {}{} · {} rows measured, {} "
      "reused, "
      "{} without a time\n\n",
      markdown_cell(header.suite),
      header.id,
      markdown_cell(header.stack),
      header.environment.id(),
      to_text(header.started),
      labels_text(report),
      report.run.rows_ok,
      report.run.rows_reused,
      report.run.rows_failed);
  text += report.models.empty() ? std::string() : overview(report);
  text += exclusion_section(report.exclusions, analysis::day_of(report.run.header));
  std::size_t written = 0;
  for (const analysis::ModelReport& model : report.models) {
    const std::string section = model_section(model);
    if (text.size() + section.size() + 100 > kMarkdownLimit) {
      text += fmt::format("\nand {} more models: the HTML report has them all\n",
                          report.models.size() - written);
      break;
    }
    text += section;
    ++written;
  }
  if (!report.layers.empty() && text.size() + 1000 < kMarkdownLimit) {
    text += layers_section(report, kMarkdownLimit - text.size());
  }
  out << text;
}

}  // namespace plumb::reporting
