// SPDX-License-Identifier: Apache-2.0
// The text and the JSON of `plumb whatif`.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "reporting/content/run/documents.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/content/run/report_writers.hpp"
#include "reporting/document/aligned_table.hpp"
#include "reporting/document/quantity_text.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {
namespace {

constexpr const char* kNoTime = "–";

std::string interval_cell(const std::optional<Seconds>& time, const measure::Interval& interval) {
  return time ? with_interval(*time, interval) : kNoTime;
}

std::string speed_up_cell(const std::optional<double>& ratio) {
  return ratio ? ratio_text(*ratio) : kNoTime;
}

void write_what_if_table(const analysis::ModelWhatIfs& model, std::ostream& out) {
  AlignedTable table({{"  what if"},
                      {"saves", true},
                      {"now, priced", true},
                      {"predicted", true},
                      {"speed-up", true},
                      {"now, measured", true},
                      {"realised", true},
                      {"speed-up", true},
                      {"error", true}});
  for (const analysis::WhatIfResult& result : model.whatifs) {
    const std::optional<Seconds> saving = analysis::predicted_saving(result);
    table.add({"  " + result.name,
               saving ? time_text(*saving) : kNoTime,
               interval_cell(result.baseline, result.baseline_interval),
               interval_cell(saving ? result.predicted : std::nullopt, result.predicted_interval),
               speed_up_cell(saving ? result.predicted_speedup : std::nullopt),
               interval_cell(result.realised_baseline, result.realised_baseline_interval),
               interval_cell(result.realised, result.realised_interval),
               speed_up_cell(result.realised_speedup),
               prediction_error_text(result)});
  }
  table.write(out);
}

/// Writes the largest savings of a what-if, and what the rest of them adds up to.
void write_savings(const analysis::WhatIfResult& result, std::ostream& out) {
  constexpr std::size_t kMost = 3;
  Seconds rest{};
  for (std::size_t i = 0; i < result.layers.size(); ++i) {
    const auto& saving = result.layers[i];
    if (i >= kMost) {
      rest += saving.before - saving.after;
      continue;
    }
    out << fmt::format("    {}  {} → {}  ({})\n",
                       sanitize_utf8(saving.layer),
                       time_text(saving.before),
                       time_text(saving.after),
                       sanitize_utf8(saving.change));
  }
  if (result.layers.size() > kMost) {
    out << fmt::format("    {} more save {} together: --json lists them\n",
                       result.layers.size() - kMost,
                       time_text(rest));
  }
}

void write_what_ifs_of(const analysis::ModelWhatIfs& model, std::ostream& out) {
  out << sanitize_utf8(to_text(model.instance, "  ")) << '\n';
  write_what_if_table(model, out);
  for (const analysis::WhatIfResult& result : model.whatifs) {
    if (!analysis::predicted_saving(result)) {
      out << fmt::format("  {}: not predicted: {}\n", result.name, sanitize_utf8(result.why_not));
      continue;
    }
    out << fmt::format("  {}: {}\n", result.name, sanitize_utf8(result.mode));
    if (!result.command.empty()) {
      out << "    $ " << sanitize_utf8(result.command) << '\n';
    }
    write_savings(result, out);
  }
  out << '\n';
}

}  // namespace

void write_what_ifs(const analysis::RunReport& report, OutputMode style, std::ostream& out) {
  if (style == OutputMode::kJson) {
    return write_json(analysis::what_ifs_document(report), out);
  }
  out << fmt::format("run {}  suite {}  stack {}\n\n",
                     report.run.header.id,
                     sanitize_utf8(report.run.header.suite),
                     sanitize_utf8(report.run.header.stack));
  for (const analysis::ModelReport& model : report.models) {
    write_what_ifs_of(model.whatifs, out);
  }
}

}  // namespace plumb::reporting
