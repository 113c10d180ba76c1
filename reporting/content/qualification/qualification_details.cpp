// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "reporting/content/comparison/attribution_rows.hpp"
#include "reporting/content/comparison/function_rows.hpp"
#include "reporting/content/comparison/metric_rows.hpp"
#include "reporting/content/comparison/metric_table.hpp"
#include "reporting/content/qualification/qualification_writers.hpp"

namespace plumb::reporting {
namespace {

void add_models(const analysis::Qualification& q,
                const analysis::RunComparisonReport& compared,
                Page& page) {
  begin_part(5, "Model by model", page);
  MetricList models;
  for (const analysis::MetricComparison& metric : compared.comparison.metrics) {
    if (!metric.model.empty()) {
      models.push_back(&metric);
    }
  }
  if (models.empty()) {
    page.paragraph("No model was measured end to end.");
    return;
  }
  add_metric_table(models, compared.places, page);
  if (page.extent() == Extent::kTerminal) {
    return;
  }
  page.paragraph(
      fmt::format("Bounds of the models under either stack: not measured here. `plumb bound {}` "
                  "and `plumb bound {}` show the bounds of both runs.",
                  q.baseline.run,
                  q.candidate.run));
  if (!q.attributions.empty()) {
    page.subheading("Where the change comes from");
    for (const analysis::ModelAttribution& split : q.attributions) {
      add_attribution(split, compared.places, page);
    }
  }
}

void add_regressed_layer(const analysis::QualifiedMetric& layer,
                         const std::map<std::string, std::string>& places,
                         Page& page) {
  const auto place = places.find(layer.subject);
  page.subheading(place == places.end() ? "a layer of the suite itself" : place->second);
  const analysis::PinnedVariantCheck& replay = layer.replay;
  std::vector<PageRow> rows{
      {text_cell("measure it"), code_cell(layer_command(layer.subject))},
      {text_cell("models"),
       text_cell(layer.models.empty() ? "–" : fmt::format("{}", fmt::join(layer.models, ", ")))},
      {text_cell("change"),
       text_cell(fmt::format("{} → {}, {} ({})",
                             baseline_text(layer.test),
                             candidate_text(layer.test),
                             ratio_change_text(layer.test),
                             change_interval_text(layer.test)))},
      {text_cell("implementation before"), code_cell(layer.baseline_variant)},
      {text_cell("implementation now"), code_cell(layer.candidate_variant)},
      {text_cell("the old one tried in the new stack"),
       text_cell(std::string(to_text(replay.finding)) +
                 (replay.replay ? ", " + ratio_change_text(*replay.replay) : ""))},
      {text_cell("the bound"),
       text_cell(std::string(to_text(replay.bound)) +
                 (replay.best ? ", fastest variant " + ratio_change_text(*replay.best) : ""))},
      {text_cell("fastest before and now"),
       code_cell(replay.baseline_best + " / " + replay.candidate_best)},
      {text_cell("why"), text_cell(why_text(layer.test))},
      {text_cell("evidence"), text_cell(replay.evidence.empty() ? "–" : replay.evidence)}};
  if (!layer.waived_by.empty()) {
    rows.push_back({text_cell("waived"), text_cell(layer.waived_by)});
  }
  page.table({text_cell(""), text_cell(std::string(to_text(layer.test.verdict)))}, rows);
}

void add_regressed_layers(const analysis::Qualification& q,
                          const std::map<std::string, std::string>& places,
                          Page& page) {
  begin_part(6, "Layers that got worse", page);
  add_findings(q.findings, places, page);
  std::size_t worse = 0;
  for (const analysis::QualifiedMetric& layer : q.layers) {
    if (is_worse(layer.test) && ++worse <= page.most_details()) {
      add_regressed_layer(layer, places, page);
    }
  }
  if (worse > page.most_details()) {
    page.paragraph(fmt::format("and {} more", worse - page.most_details()));
  }
  if (worse == 0) {
    page.paragraph("No layer is broken or regressed.");
  }
}

/// Adds the layers that changed, as one table, and the reasons.
void add_changed_layers(const analysis::Qualification& q,
                        const analysis::RunComparisonReport& compared,
                        Page& page) {
  MetricList layers = changed_metrics(compared.comparison.metrics);
  std::erase_if(layers, [](const auto* metric) { return !metric->model.empty(); });
  if (!layers.empty()) {
    constexpr std::size_t kMost = 20;
    page.heading("Layers that changed");
    const std::size_t all = layers.size();
    layers.resize(std::min(all, kMost));
    add_metric_table(layers, compared.places, page);
    if (all > layers.size()) {
      page.paragraph(fmt::format("and {} more, all of them with --json", all - layers.size()));
    }
  }
  if (!q.findings.empty()) {
    page.heading("Where it comes from");
    add_findings(q.findings, compared.places, page);
  }
}

}  // namespace

void add_qualification_details(const analysis::QualificationReport& report, Page& page) {
  const analysis::Qualification& q = report.qualification;
  const analysis::RunComparisonReport compared = as_comparison(q);
  add_models(q, compared, page);
  if (page.extent() == Extent::kTerminal) {
    add_changed_layers(q, compared, page);
  } else {
    add_regressed_layers(q, compared.places, page);
  }
  if (!q.functions.empty()) {
    page.subheading("Inside what changed");
    add_functions(q.functions, compared.places, page);
  }
}

}  // namespace plumb::reporting
