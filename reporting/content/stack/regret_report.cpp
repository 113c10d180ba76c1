// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string>

#include "reporting/content/run/json_documents.hpp"
#include "reporting/content/stack/stack_documents.hpp"
#include "reporting/document/quantity_text.hpp"
#include "reporting/formats/html_page.hpp"
#include "reporting/formats/markdown_page.hpp"
#include "reporting/formats/text_page.hpp"

namespace plumb::reporting {
namespace {

constexpr std::size_t kWorst = 50;
constexpr std::size_t kShownWorst = 10;

constexpr const char* kMethod =
    "Regret is the time of the library's choice divided by that of its fastest variant in the same "
    "layout. The caller fixes the layout, except for layout=any. Times are hot, with the harness "
    "overhead subtracted, from the full and confirmed rows of a run. Where another variant's "
    "median is smaller but the 95 % intervals overlap, the key counts as 1. Keys for which the "
    "library has one variant are left out, and so are built-in kernels. The mean is geometric. Its "
    "interval (95 %) shows what another draw of such keys might give.";

analysis::Json time_json(const analysis::KeyTime& time) {
  const bool known = measure::has_interval(time.time);
  return {{"variant", time.variant},
          {"seconds", time.time.median.count()},
          {"low", known ? analysis::Json(time.time.interval.low.count()) : analysis::Json()},
          {"high", known ? analysis::Json(time.time.interval.high.count()) : analysis::Json()},
          {"samples", time.time.n}};
}

analysis::Json key_json(const analysis::RegretGroup::KeyRegret& key) {
  return {{"key", key.key.text},
          {"ratio", key.ratio},
          {"intervals_overlap", key.within},
          {"choice", time_json(key.choice)},
          {"best", time_json(key.best)}};
}

analysis::Json group_json(const analysis::RegretGroup& group) {
  const bool known = !group.keys.empty();
  const auto number = [known](double value) {
    return known ? analysis::Json(value) : analysis::Json();
  };
  analysis::Json worst = analysis::Json::array();
  for (std::size_t i = 0; i < std::min(kWorst, group.keys.size()); ++i) {
    worst.push_back(key_json(group.keys[i]));
  }
  return {{"dtype", group.dtype},
          {"keys", group.keys.size()},
          {"overlapping_keys", group.within},
          {"single_variant_keys", group.no_choice},
          {"unmeasured_keys", group.not_measured},
          {"geometric_mean", number(group.mean.mean)},
          {"low", analysis::number_or_null(group.mean.low)},
          {"high", analysis::number_or_null(group.mean.high)},
          {"p50", number(group.p50)},
          {"p90", number(group.p90)},
          {"p99", number(group.p99)},
          {"share_above_5_percent", number(group.share_above)},
          {"worst", std::move(worst)}};
}

analysis::Json make_document(const RegretReport& report) {
  analysis::Json runs = analysis::Json::array();
  for (const analysis::HeuristicRegret& run : report) {
    analysis::Json groups = analysis::Json::array();
    for (const analysis::RegretGroup& group : run.groups) {
      groups.push_back(group_json(group));
    }
    runs.push_back({{"run", run.run},
                    {"suite", run.suite},
                    {"stack", run.stack},
                    {"library", run.library},
                    {"device", run.device},
                    {"threads", run.threads},
                    {"cache", to_text(run.cache)},
                    {"groups", std::move(groups)}});
  }
  return {{"schema_version", analysis::kJsonSchemaVersion},
          {"method", kMethod},
          {"runs", std::move(runs)}};
}

std::string mean_text(const analysis::RegretGroup& group) {
  if (group.keys.empty()) {
    return "–";
  }
  return group.mean.low
             ? fmt::format(
                   "{:.4f} ({:.4f} to {:.4f})", group.mean.mean, *group.mean.low, *group.mean.high)
             : fmt::format("{:.4f}", group.mean.mean);
}

std::string number_text(const analysis::RegretGroup& group, double value) {
  return group.keys.empty() ? "–" : fmt::format("{:.3f}", value);
}

std::string percent_text(const analysis::RegretGroup& group) {
  return group.keys.empty() ? "–" : share_text(group.share_above);
}

std::string interval_text(const measure::SampleSummary& time) {
  if (!measure::has_interval(time)) {
    return fmt::format("{} (n = {})", time_text(time.median), time.n);
  }
  return fmt::format("{} ({} to {}, n = {})",
                     time_text(time.median),
                     time_text(time.interval.low),
                     time_text(time.interval.high),
                     time.n);
}

PageRow summary_row(const analysis::HeuristicRegret& run, const analysis::RegretGroup& group) {
  PageRow row;
  row << run.library << run.device << group.dtype << number_cell(std::to_string(group.keys.size()))
      << number_cell(mean_text(group)) << number_cell(number_text(group, group.p50))
      << number_cell(number_text(group, group.p90)) << number_cell(number_text(group, group.p99))
      << number_cell(percent_text(group)) << number_cell(std::to_string(group.within))
      << number_cell(std::to_string(group.no_choice));
  return row;
}

/// Adds the keys of a group with the largest regret. A terminal has fewer of them, and no
/// intervals.
void add_worst(const analysis::RegretGroup& group, Page& page) {
  const bool terminal = page.extent() == Extent::kTerminal;
  const auto text = [&](const measure::SampleSummary& time) {
    return terminal ? time_text(time.median) : interval_text(time);
  };
  PageTable table{.head = head_row("#regret|choice|#its time|best|#its time|key")};
  for (const analysis::RegretGroup::KeyRegret& key : group.keys) {
    if (key.ratio <= 1.0 || table.rows.size() == (terminal ? kShownWorst : kWorst)) {
      break;
    }
    table.row() << number_cell(fmt::format("{:.3f}", key.ratio)) << key.choice.variant
                << number_cell(text(key.choice.time)) << key.best.variant
                << number_cell(text(key.best.time)) << code_cell(key.key.text);
  }
  if (table.rows.empty()) {
    page.paragraph("Every choice is as fast as the best variant, within the intervals.");
  } else {
    page.table(table);
  }
}

template <typename Built>
void write_as(const RegretReport& report, std::ostream& out) {
  Built page("What the library's own choices cost");
  PageTable summary{
      .head = head_row("library|device|type|#keys|#geometric mean|#p50|#p90|#p99|#above 1.05|"
                       "#overlap|#one variant")};
  for (const analysis::HeuristicRegret& run : report) {
    for (const analysis::RegretGroup& group : run.groups) {
      summary.rows.push_back(summary_row(run, group));
    }
  }
  page.table(summary);
  for (const analysis::HeuristicRegret& run : report) {
    for (const analysis::RegretGroup& group : run.groups) {
      page.heading(fmt::format("{} {} of run {}: the worst", run.library, group.dtype, run.run));
      add_worst(group, page);
    }
  }
  page.heading("Method");
  page.paragraph(kMethod);
  page.write(out);
}

void write_json_document(const RegretReport& report, std::ostream& out) {
  write_json(make_document(report), out);
}

constexpr std::array<OutputFormat<RegretReport>, 4> kFormats{{
    {".html", "one page that opens offline", write_as<HtmlPage>},
    {".md", "Markdown", write_as<MarkdownPage>},
    {".json", "JSON document", write_json_document},
    {".txt", "text", write_as<TextPage>},
}};

}  // namespace

void write_regret(const RegretReport& report, OutputMode style, std::ostream& out) {
  (style == OutputMode::kJson ? write_json_document : write_as<TextPage>)(report, out);
}

std::span<const OutputFormat<RegretReport>> regret_formats() {
  return kFormats;
}

}  // namespace plumb::reporting
