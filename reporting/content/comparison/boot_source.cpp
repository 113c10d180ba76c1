// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/comparison/boot_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "harness/base/shell_word.hpp"
#include "reporting/content/comparison/metric_rows.hpp"
#include "reporting/document/quantity_text.hpp"

namespace plumb::reporting {
namespace {

std::string list_of(const std::vector<analysis::Boot>& boots) {
  std::string text;
  for (const analysis::Boot& boot : boots) {
    text += fmt::format("{}{:.8} ({}, control {})",
                        text.empty() ? "" : ", ",
                        boot.id,
                        fmt::join(boot.runs, " "),
                        time_text(Seconds(boot.control)));
  }
  return text;
}

}  // namespace

analysis::ComparisonSource boot_source(const analysis::RunComparisonReport& report) {
  const analysis::ComparedBoots& boots = *report.boots;
  const analysis::ComparisonLimits& limits = report.limits;
  analysis::ComparisonSource source;
  source.name =
      fmt::format("{} boots against {} boots", boots.candidate.size(), boots.baseline.size());
  source.method = fmt::format(
      "The sides are compared over boots, for what cannot be switched within one boot: a boot is "
      "the unit of replication. Each time is divided by the time of a fixed product, which its run "
      "measured at its beginning and end, and scaled to {}. The sides are compared by trimmed "
      "means with Yuen's errors and Welch's degrees of freedom. End to end is tested at {:.2g} %. "
      "Among layers, {:.2g} % of the reported changes may be false (Benjamini and Hochberg).",
      time_text(boots.control),
      100.0 * limits.alpha,
      100.0 * limits.false_discovery_rate);
  source.command = "plumb compare " + shell_quoted(boots.baseline_name) + " " +
                   shell_quoted(boots.candidate_name);
  for (const std::string& name : report.varied) {
    source.command += " --vary " + shell_quoted(name);
  }
  source.facts = {{"boots", list_of(boots.baseline), list_of(boots.candidate)}};
  if (!boots.baseline_left_out.empty() || !boots.candidate_left_out.empty()) {
    const auto text = [](const std::string& left_out) {
      return left_out.empty() ? std::string("none") : left_out.substr(2);
    };
    source.facts.push_back(
        {"left out", text(boots.baseline_left_out), text(boots.candidate_left_out)});
  }
  return source;
}

}  // namespace plumb::reporting
