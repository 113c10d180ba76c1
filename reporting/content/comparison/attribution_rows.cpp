// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/comparison/attribution_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "reporting/content/comparison/metric_rows.hpp"
#include "reporting/document/quantity_text.hpp"

namespace plumb::reporting {
namespace {

/// Returns the names of a finding's first layers: "conv1 of lenet; conv2 of lenet; and 3 more".
/// Empty: no layer has a name.
std::string names_of(const analysis::QualificationFinding& finding, const PlaceTexts& places) {
  constexpr std::size_t kMaxNames = 5;
  std::vector<std::string> names;
  for (const std::string& key : finding.layers) {
    const auto place = places.find(key);
    if (place != places.end()) {
      names.push_back(place->second);
    }
  }
  const std::size_t all = names.size();
  if (all > kMaxNames) {
    names.resize(kMaxNames);
    names.push_back(fmt::format("and {} more", all - kMaxNames));
  }
  return fmt::format("{}", fmt::join(names, "; "));
}

}  // namespace

void add_attribution(const analysis::ModelAttribution& split,
                     const PlaceTexts& places,
                     Page& page) {
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
    const analysis::ModelAttribution::Term& term = split.layers[i];
    rows.push_back({code_cell(named_key(term.layer, places)),
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

std::string extent_text(const analysis::QualificationFinding& finding) {
  return fmt::format("{} of {}, {}",
                     counted(finding.layers.size(), "layer"),
                     counted(finding.models.size(), "model"),
                     change_text(Seconds(finding.delta_seconds)));
}

void add_findings(std::span<const analysis::QualificationFinding> findings,
                  const PlaceTexts& places,
                  Page& page) {
  if (page.extent() == Extent::kComment) {
    std::vector<std::string> lines;
    for (const analysis::QualificationFinding& finding : findings) {
      lines.push_back(finding.cause + ": " + extent_text(finding));
    }
    page.list(lines);
    return;
  }
  for (const analysis::QualificationFinding& finding : findings) {
    const std::string names = names_of(finding, places);
    page.paragraph(fmt::format("{} ({}): {}{}{}",
                               finding.cause,
                               extent_text(finding),
                               finding.evidence,
                               names.empty() ? "" : ". Layers: ",
                               names));
  }
}

}  // namespace plumb::reporting
