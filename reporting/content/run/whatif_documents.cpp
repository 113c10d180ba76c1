// SPDX-License-Identifier: Apache-2.0
// The text and the JSON of `plumb whatif`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <string_view>
#include <vector>

#include "harness/analysis/whatif/mode_accuracy.hpp"
#include "harness/analysis/whatif/mode_settings.hpp"
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

std::string memory_cell(const std::optional<Bytes>& amount) {
  return amount ? bytes_text(*amount) : kNoTime;
}

std::string saving_interval_cell(const analysis::WhatIfResult& result) {
  const std::optional<analysis::MeasuredTime> saving = analysis::saving_with_interval(result);
  return saving ? fmt::format(
                      "{} … {}", time_text(saving->interval.low), time_text(saving->interval.high))
                : kNoTime;
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
                      {"error", true},
                      {"saves, 95 %", true},
                      {"accuracy"},
                      {"memory", true}});
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
               prediction_error_text(result),
               saving_interval_cell(result),
               analysis::accuracy_class(result.execution_mode),
               memory_cell(result.realised_memory)});
  }
  table.write(out);
}

/// Writes the way from the time now to the bound: "12.8 ms now; 1.2 ms reorders, cold caches and
/// gaps; …; 7.3 ms hardware".
void write_waterfall(const std::vector<analysis::WaterfallLevel>& levels, std::ostream& out) {
  if (levels.size() < 2) {
    return;
  }
  out << "  " << time_text(levels.front().seconds) << " now";
  for (std::size_t i = 1; i < levels.size(); ++i) {
    out << fmt::format(
        "; {} {}", time_text(levels[i - 1].seconds - levels[i].seconds), levels[i].what);
  }
  out << fmt::format("; {} is left ({})\n", time_text(levels.back().seconds), levels.back().name);
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

/// Writes a what-if's meaning, what switches it on, what it needs and where it saves.
void write_details(const analysis::WhatIfResult& result, std::ostream& out) {
  out << fmt::format("  {}: {}\n", result.name, sanitize_utf8(result.mode));
  if (!result.command.empty()) {
    out << "    $ " << sanitize_utf8(result.command) << '\n';
  }
  std::map<std::string_view, std::vector<std::string_view>> settings;
  for (const analysis::ModeSetting& each : analysis::settings_of(result.execution_mode)) {
    settings[each.framework].push_back(each.setting);
  }
  for (const auto& [framework, of_framework] : settings) {
    out << fmt::format("    {}: {}\n", framework, fmt::join(of_framework, "; "));
  }
  for (const std::string& need : result.prerequisites) {
    out << "    needs " << sanitize_utf8(need) << '\n';
  }
  if (!result.not_judged.empty()) {
    out << "    not judged: " << sanitize_utf8(result.not_judged) << '\n';
  }
  write_savings(result, out);
}

void write_what_ifs_of(const analysis::ModelReport& report, Detail detail, std::ostream& out) {
  constexpr std::size_t kDetailed = 3;
  const analysis::ModelWhatIfs& model = report.whatifs;
  out << sanitize_utf8(to_text(model.instance, "  ")) << '\n';
  write_waterfall(report.waterfall, out);
  write_what_if_table(model, out);
  std::size_t detailed = 0;
  for (const analysis::WhatIfResult& result : model.whatifs) {
    const std::optional<Seconds> saving = analysis::predicted_saving(result);
    if (!saving) {
      out << fmt::format("  {}: {}: {}\n",
                         result.name,
                         result.applies ? "not predicted" : "does not apply",
                         sanitize_utf8(result.why_not));
    } else if (detail == Detail::kAll || (*saving > Seconds{} && detailed++ < kDetailed)) {
      write_details(result, out);
    }
  }
  out << '\n';
}

/// Writes how to see more, and how to measure what has no realised saving.
void write_hint(const analysis::RunReport& report, std::ostream& out) {
  const bool missing = std::any_of(
      report.models.begin(), report.models.end(), [](const analysis::ModelReport& model) {
        return std::any_of(model.whatifs.whatifs.begin(),
                           model.whatifs.whatifs.end(),
                           [](const analysis::WhatIfResult& each) {
                             return each.applies && !each.realised && each.why_not.empty();
                           });
      });
  if (!report.models.empty()) {
    out << "plumb whatif --all: what switches each of them on, what it needs and where it saves\n";
  }
  if (missing) {
    out << "plumb whatif --measure: executes what has no realised saving yet\n";
  }
}

}  // namespace

void write_what_ifs(const analysis::RunReport& report,
                    OutputMode style,
                    std::ostream& out,
                    Detail detail) {
  if (style == OutputMode::kJson) {
    return write_json(analysis::what_ifs_document(report), out);
  }
  out << fmt::format("run {}  suite {}  stack {}\n\n",
                     report.run.header.id,
                     sanitize_utf8(report.run.header.suite),
                     sanitize_utf8(report.run.header.stack));
  for (const analysis::ModelReport& model : report.models) {
    write_what_ifs_of(model, detail, out);
  }
  if (detail == Detail::kShort) {
    write_hint(report, out);
  }
}

}  // namespace plumb::reporting
