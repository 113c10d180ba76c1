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

std::string error_cell(const analysis::WhatIfResult& result) {
  return result.prediction_error ? fmt::format("{:.1f} %", 100.0 * result.prediction_error->share)
                                 : kNoTime;
}

std::string error_interval_cell(const analysis::WhatIfResult& result) {
  const auto& error = result.prediction_error;
  return error ? fmt::format("{:.1f} … {:.1f} %", 100.0 * error->low, 100.0 * error->high)
               : kNoTime;
}

std::string saving_interval_cell(const analysis::WhatIfResult& result) {
  const std::optional<analysis::MeasuredTime> saving = analysis::saving_with_interval(result);
  return saving ? fmt::format(
                      "{} … {}", time_text(saving->interval.low), time_text(saving->interval.high))
                : kNoTime;
}

/// Returns whether a what-if has a number: a predicted saving, or a realised time.
bool has_number(const analysis::WhatIfResult& result) {
  return analysis::predicted_saving(result) || result.realised;
}

void write_what_if_table(const analysis::ModelWhatIfs& model, Detail detail, std::ostream& out) {
  struct Cell {
    AlignedTable::Column column;
    std::string text;
    bool always = false;  ///< else only with Detail::kAll
  };
  const auto cells_of = [](const analysis::WhatIfResult& result) {
    const std::optional<Seconds> saving = analysis::predicted_saving(result);
    return std::vector<Cell>{
        {{"  what if"}, "  " + result.name, true},
        {{"saves", true}, saving ? time_text(*saving) : kNoTime, true},
        {{"saves, 95 %", true}, saving_interval_cell(result)},
        {{"now, priced", true}, interval_cell(result.baseline, result.baseline_interval)},
        {{"predicted", true},
         interval_cell(saving ? result.predicted : std::nullopt, result.predicted_interval),
         true},
        {{"speed-up", true}, speed_up_cell(saving ? result.predicted_speedup : std::nullopt)},
        {{"now, measured", true},
         interval_cell(result.realised_baseline, result.realised_baseline_interval)},
        {{"realised", true}, interval_cell(result.realised, result.realised_interval), true},
        {{"speed-up", true}, speed_up_cell(result.realised_speedup), true},
        {{"error", true}, error_cell(result), true},
        {{"error, 95 %", true}, error_interval_cell(result)},
        {{"accuracy"}, std::string(analysis::accuracy_class(result.execution_mode)), true},
        {{"memory", true}, memory_cell(result.realised_memory)}};
  };
  std::optional<AlignedTable> table;
  for (const analysis::WhatIfResult& result : model.whatifs) {
    if (!has_number(result)) {
      continue;
    }
    std::vector<AlignedTable::Column> columns;
    std::vector<std::string> row;
    for (Cell& cell : cells_of(result)) {
      if (cell.always || detail == Detail::kAll) {
        columns.push_back(std::move(cell.column));
        row.push_back(std::move(cell.text));
      }
    }
    if (!table) {
      table.emplace(std::move(columns));
    }
    table->add(std::move(row));
  }
  if (table) {
    table->write(out);
  }
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

/// Splits a variant's text into its fields.
std::vector<std::string_view> fields_of(std::string_view variant) {
  std::vector<std::string_view> fields;
  while (!variant.empty()) {
    const std::size_t end = std::min(variant.find(';'), variant.size());
    fields.push_back(variant.substr(0, end));
    variant.remove_prefix(std::min(end + 1, variant.size()));
  }
  return fields;
}

/// Returns the fields of a variant that another lacks: "brgconv:avx512_core_vnni".
std::string own_fields(std::string_view variant, std::string_view other) {
  constexpr std::string_view kImplementation = "impl=";
  const std::vector<std::string_view> others = fields_of(other);
  std::string result;
  for (std::string_view field : fields_of(variant)) {
    if (std::find(others.begin(), others.end(), field) == others.end()) {
      field.remove_prefix(field.starts_with(kImplementation) ? kImplementation.size() : 0);
      result += result.empty() ? "" : ";";
      result += field;
    }
  }
  return result;
}

/// Returns what differs between two variants "A → B", and of one variant its implementation. Any
/// other text stays as it is.
std::string short_change(std::string_view change) {
  constexpr std::string_view kArrow = " → ";
  constexpr std::string_view kImplementation = "impl=";
  const std::size_t arrow = change.find(kArrow);
  if (!change.starts_with(kImplementation)) {
    return std::string(change);
  }
  if (arrow == std::string_view::npos) {
    return std::string(fields_of(change).front().substr(kImplementation.size()));
  }
  const std::string_view before = change.substr(0, arrow);
  const std::string_view after = change.substr(arrow + kArrow.size());
  return own_fields(before, after) + std::string(kArrow) + own_fields(after, before);
}

/// Writes the largest savings of a what-if, and what the rest of them adds up to.
void write_savings(const analysis::WhatIfResult& result, Detail detail, std::ostream& out) {
  constexpr std::size_t kMost = 3;
  Seconds rest{};
  for (std::size_t i = 0; i < result.layers.size(); ++i) {
    const auto& saving = result.layers[i];
    if (i >= kMost) {
      rest += saving.before - saving.after;
      continue;
    }
    out << fmt::format(
        "    {}  {} → {}  ({})\n",
        sanitize_utf8(saving.layer),
        time_text(saving.before),
        time_text(saving.after),
        sanitize_utf8(detail == Detail::kAll ? saving.change : short_change(saving.change)));
  }
  if (result.layers.size() > kMost) {
    out << fmt::format("    {} more save {} together: --json lists them\n",
                       result.layers.size() - kMost,
                       time_text(rest));
  }
}

/// Writes a what-if's meaning, what switches it on and where it saves.
void write_details(const analysis::WhatIfResult& result, Detail detail, std::ostream& out) {
  out << fmt::format("  {}: {}\n", result.name, sanitize_utf8(result.mode));
  if (!result.command.empty()) {
    out << "    $ " << sanitize_utf8(result.command) << '\n';
  }
  if (detail == Detail::kAll) {
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
  }
  if (!result.not_judged.empty()) {
    out << "    not judged: " << sanitize_utf8(result.not_judged) << '\n';
  }
  write_savings(result, detail, out);
}

/// Writes why what-ifs have no prediction. In short, those that do not apply are only named.
void write_reasons(const analysis::ModelWhatIfs& model, Detail detail, std::ostream& out) {
  std::vector<std::string_view> elsewhere;
  for (const analysis::WhatIfResult& result : model.whatifs) {
    if (analysis::predicted_saving(result)) {
      continue;
    }
    if (!result.applies && detail == Detail::kShort) {
      elsewhere.push_back(result.name);
    } else {
      out << fmt::format("  {}: {}: {}\n",
                         result.name,
                         result.applies ? "not predicted" : "does not apply",
                         sanitize_utf8(result.why_not));
    }
  }
  if (!elsewhere.empty()) {
    out << fmt::format("  do not apply here: {}\n", fmt::join(elsewhere, ", "));
  }
}

void write_what_ifs_of(const analysis::ModelReport& report, Detail detail, std::ostream& out) {
  constexpr std::size_t kDetailed = 3;
  const analysis::ModelWhatIfs& model = report.whatifs;
  out << sanitize_utf8(to_text(model.instance, "  ")) << '\n';
  write_waterfall(report.waterfall, out);
  write_what_if_table(model, detail, out);
  std::size_t detailed = 0;
  for (const analysis::WhatIfResult& result : model.whatifs) {
    const std::optional<Seconds> saving = analysis::predicted_saving(result);
    if (saving && (detail == Detail::kAll || (*saving > Seconds{} && detailed++ < kDetailed))) {
      write_details(result, detail, out);
    }
  }
  write_reasons(model, detail, out);
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
    out << "plumb whatif --all: all columns; what switches each of them on in other frameworks, "
           "what "
           "it needs, where it saves, and why the rest does not apply\n";
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
