// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "harness/analysis/profile/profile_shares.hpp"
#include "reporting/content/comparison/metric_rows.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::reporting {
namespace {

/// Returns the names of a finding's first layers: "conv1 of lenet; conv2 of lenet; and 3 more".
/// Empty: no layer has a name.
std::string names_of(const analysis::RunComparison::Finding& finding, const PlaceTexts& places) {
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

void add_attribution(const analysis::RunComparison::Attribution& split,
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
    const analysis::RunComparison::Attribution::Term& term = split.layers[i];
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

std::string extent_text(const analysis::RunComparison::Finding& finding) {
  return fmt::format("{} of {}, {}",
                     counted(finding.layers.size(), "layer"),
                     counted(finding.models.size(), "model"),
                     change_text(Seconds(finding.delta_seconds)));
}

void add_findings(std::span<const analysis::RunComparison::Finding> findings,
                  const PlaceTexts& places,
                  Page& page) {
  if (page.extent() == Extent::kComment) {
    std::vector<std::string> lines;
    for (const analysis::RunComparison::Finding& finding : findings) {
      lines.push_back(finding.cause + ": " + extent_text(finding));
    }
    page.list(lines);
    return;
  }
  for (const analysis::RunComparison::Finding& finding : findings) {
    const std::string names = names_of(finding, places);
    page.paragraph(fmt::format("{} ({}): {}{}{}",
                               finding.cause,
                               extent_text(finding),
                               finding.evidence,
                               names.empty() ? "" : ". Layers: ",
                               names));
  }
}

namespace {

using analysis::FunctionFinding;

constexpr std::size_t kNamedFunctions = 3;
constexpr std::size_t kMaxRows = 20;
constexpr std::size_t kLongestName = 80;

/// Returns a change relative to the baseline's time of the model or layer.
std::string relative_text(const FunctionFinding& finding, Seconds change) {
  if (finding.baseline <= Seconds(0.0)) {
    return change_text(change);
  }
  return signed_share_text(change / finding.baseline);
}

std::string name_of(const FunctionFinding& finding, const PlaceTexts& places) {
  if (finding.layer.empty()) {
    return fmt::format("{} in the mode {}",
                       finding.model,
                       finding.measured_mode.empty() ? finding.mode : finding.measured_mode);
  }
  const auto place = places.find(finding.layer);
  return place == places.end() ? finding.layer : place->second;
}

/// Returns "is equivalent (−0.2 to +0.4 %)", of a control.
std::string equivalent_text(const FunctionFinding& finding) {
  return finding.low && finding.high ? fmt::format("is equivalent ({} to {})",
                                                   signed_share_text(*finding.low - 1.0),
                                                   signed_share_text(*finding.high - 1.0))
                                     : "is equivalent";
}

/// Returns by how much the profiles differ: "+11.8 % (+11.0 % to +12.6 %) inside the model", or
/// "alone" for a layer that was profiled by itself.
std::string profiled_text(const FunctionFinding& finding) {
  std::string text = relative_text(finding, finding.change());
  if (finding.change_low && finding.change_high) {
    text += fmt::format(" ({} to {})",
                        relative_text(finding, *finding.change_low),
                        relative_text(finding, *finding.change_high));
  }
  if (!finding.layer.empty()) {
    return text + (finding.model == finding.layer ? " alone" : " inside the model");
  }
  return text + " in its profiles" +
         (finding.has_other_mode() ? fmt::format(" in the mode {}", finding.mode) : "");
}

/// Returns "regressed by 12 % (9 to 15 %)", as the metric was measured.
std::string measured_text(const FunctionFinding& finding) {
  if (!finding.ratio) {
    return "changed";
  }
  if (finding.control) {
    return equivalent_text(finding);
  }
  const bool slower = *finding.ratio >= 1.0;
  const auto percent = [&](double ratio) { return 100.0 * (slower ? ratio - 1.0 : 1.0 - ratio); };
  std::string text =
      fmt::format("{} by {:.3g} %", slower ? "regressed" : "improved", percent(*finding.ratio));
  if (finding.low && finding.high) {
    text += fmt::format(" ({:.3g} to {:.3g} %)",
                        percent(slower ? *finding.low : *finding.high),
                        percent(slower ? *finding.high : *finding.low));
  }
  return text;
}

std::string only_text(const analysis::FunctionFinding::Part& part) {
  return !part.in_baseline    ? "which the baseline did not execute"
         : !part.in_candidate ? "which the candidate does not execute"
                              : "";
}

std::string short_name(const std::string& name) {
  // A cut within a character is mended where the text is written.
  return name.size() > kLongestName ? name.substr(0, kLongestName) + "…" : name;
}

/// Adds what the intervals of some findings do not know.
void add_interval_note(std::span<const FunctionFinding> findings, Page& page) {
  const auto by_blocks = std::count_if(findings.begin(), findings.end(), [](const auto& each) {
    return each.problem.empty() &&
           each.interval_of == analysis::to_text(analysis::GroupedSamples::Unit::kBlock);
  });
  if (by_blocks > 0) {
    page.paragraph(
        fmt::format("Intervals of profiles do not know how processes differ in {} of these {}: a "
                    "side has fewer than {} processes.",
                    by_blocks,
                    findings.size(),
                    analysis::GroupedSamples::kMinGroups));
  }
}

}  // namespace

std::string function_text(const FunctionFinding& finding, const PlaceTexts& places) {
  const std::string subject = fmt::format("{}{} {}",
                                          finding.control ? "control: " : "",
                                          name_of(finding, places),
                                          measured_text(finding));
  if (!finding.problem.empty()) {
    return fmt::format("{}; no functions are named: {}", subject, finding.problem);
  }
  std::vector<std::string> parts;
  Seconds rest{};
  for (const analysis::FunctionFinding::Part& part : finding.parts) {
    if (parts.size() < kNamedFunctions) {
      const std::string only = only_text(part);
      parts.push_back(fmt::format("{} in '{}'{}",
                                  relative_text(finding, part.change),
                                  short_name(part.function),
                                  only.empty() ? "" : ", " + only));
    } else {
      rest += part.change;
    }
  }
  if (finding.parts.size() > parts.size()) {
    parts.push_back(fmt::format("{} in {} more functions",
                                relative_text(finding, rest),
                                finding.parts.size() - parts.size()));
  }
  parts.push_back(relative_text(finding, finding.unexplained()) + " unexplained");
  return fmt::format("{}{} {}: {} ({} and {} samples)",
                     subject,
                     finding.disagrees().value_or(false) ? ", which disagrees with" : ";",
                     profiled_text(finding),
                     fmt::join(parts, "; "),
                     finding.baseline_samples,
                     finding.candidate_samples);
}

void add_functions(std::span<const FunctionFinding> findings,
                   const PlaceTexts& places,
                   Page& page) {
  if (page.extent() != Extent::kPage) {
    std::vector<std::string> sentences;
    for (const FunctionFinding& finding : findings) {
      sentences.push_back(function_text(finding, places));
    }
    page.list(sentences);
    add_interval_note(findings, page);
    return;
  }
  for (const FunctionFinding& finding : findings) {
    page.paragraph(function_text(finding, places) + ".");
    if (!finding.problem.empty()) {
      continue;
    }
    std::vector<PageRow> rows;
    for (std::size_t i = 0; i < std::min(kMaxRows, finding.parts.size()); ++i) {
      const analysis::FunctionFinding::Part& part = finding.parts[i];
      rows.push_back(
          {code_cell(part.function),
           text_cell(part.image),
           text_cell(part.step),
           number_cell(change_text(part.change)),
           number_cell(fmt::format("{} to {}", change_text(part.low), change_text(part.high))),
           text_cell(only_text(part))});
    }
    if (!rows.empty()) {
      page.table({text_cell("function"),
                  text_cell("image"),
                  text_cell("most in step"),
                  number_cell("change"),
                  number_cell("95 %"),
                  text_cell("")},
                 rows);
    }
    page.paragraph(fmt::format(
        "{} → {} in an execution in the mode {}, by {} and {} samples of {}. No time of a row "
        "comes from these executions.",
        time_text(finding.baseline),
        time_text(finding.candidate),
        finding.mode,
        finding.baseline_samples,
        finding.candidate_samples,
        finding.model));
  }
  add_interval_note(findings, page);
}

}  // namespace plumb::reporting
