// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/comparison/attribution_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "reporting/document/sanitized_text.hpp"

namespace plumb {
namespace {

constexpr double kNormal95 = 1.959964;

Json term_json(double seconds, double error) {
  return {{"seconds", seconds},
          {"interval", {seconds - kNormal95 * error, seconds + kNormal95 * error}}};
}

}  // namespace

void add_attribution(const ModelAttribution& split, Page& page) {
  page.paragraph(
      fmt::format("{} ({}): {:+.4g} s end to end (± {:.2g}), of which reorders {:+.4g} s (± "
                  "{:.2g}), layers that only one side executes {:+.4g} s (± {:.2g}), unexplained "
                  "{:+.4g} s (± {:.2g}).",
                  split.subject,
                  split.mode,
                  split.delta_seconds,
                  split.delta_error,
                  split.reorder_seconds,
                  split.reorder_error,
                  split.unmatched_seconds,
                  split.unmatched_error,
                  split.unexplained_seconds,
                  split.unexplained_error));
  constexpr std::size_t kMaxTerms = 10;
  std::vector<PageRow> rows;
  for (std::size_t i = 0; i < std::min(kMaxTerms, split.layers.size()); ++i) {
    const ModelAttribution::Term& term = split.layers[i];
    rows.push_back({code_cell(term.layer),
                    number_cell(fmt::format("{:+.4g} s", term.seconds)),
                    number_cell(fmt::format("± {:.2g}", term.error)),
                    text_cell(term.baseline_variant),
                    text_cell(term.candidate_variant)});
  }
  if (!rows.empty()) {
    page.table({text_cell("layer"),
                number_cell("its part"),
                number_cell(""),
                text_cell("baseline"),
                text_cell("candidate")},
               rows);
  }
}

void add_findings(std::span<const QualificationFinding> findings, Page& page) {
  for (const QualificationFinding& finding : findings) {
    page.paragraph(fmt::format("{} ({:+.4g} s over {} layers of {} models): {}",
                               finding.cause,
                               finding.delta_seconds,
                               finding.layers.size(),
                               finding.models.size(),
                               finding.evidence));
  }
}

void write_findings(std::span<const QualificationFinding> findings, std::ostream& out) {
  for (const QualificationFinding& finding : findings) {
    out << fmt::format("\n{}: {} layers, {} models, {:+.4g} s\n  {}\n",
                       sanitize_utf8(finding.cause),
                       finding.layers.size(),
                       finding.models.size(),
                       finding.delta_seconds,
                       sanitize_utf8(finding.evidence));
  }
}

Json attributions_json(std::span<const ModelAttribution> attributions) {
  Json list = Json::array();
  for (const ModelAttribution& split : attributions) {
    Json layers = Json::array();
    for (const ModelAttribution::Term& term : split.layers) {
      layers.push_back(term_json(term.seconds, term.error));
      layers.back().update({{"layer", term.layer},
                            {"baseline_variant", term.baseline_variant},
                            {"candidate_variant", term.candidate_variant}});
    }
    list.push_back(
        {{"model", split.subject},
         {"mode", split.mode},
         {"delta", term_json(split.delta_seconds, split.delta_error)},
         {"layers", std::move(layers)},
         {"reorders", term_json(split.reorder_seconds, split.reorder_error)},
         {"unmatched", term_json(split.unmatched_seconds, split.unmatched_error)},
         {"unexplained", term_json(split.unexplained_seconds, split.unexplained_error)}});
  }
  return list;
}

Json findings_json(std::span<const QualificationFinding> findings) {
  Json list = Json::array();
  for (const QualificationFinding& finding : findings) {
    list.push_back({{"cause", finding.cause},
                    {"evidence", finding.evidence},
                    {"layers", finding.layers},
                    {"models", finding.models},
                    {"delta_seconds", finding.delta_seconds}});
  }
  return list;
}

}  // namespace plumb
