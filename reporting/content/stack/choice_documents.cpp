// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <set>
#include <string>
#include <utility>

#include "reporting/content/run/json_documents.hpp"
#include "reporting/content/stack/stack_documents.hpp"
#include "reporting/document/page.hpp"
#include "reporting/document/texts.hpp"
#include "reporting/formats/pages.hpp"

namespace plumb::reporting {
namespace {

constexpr std::size_t kShownRows = 40;

constexpr std::array kChanges{
    std::pair{analysis::EnginePreview::Change::kSupportLost, "support lost"},
    std::pair{analysis::EnginePreview::Change::kNumerics, "other numerical notes"},
    std::pair{analysis::EnginePreview::Change::kKnobs, "other tile or knobs"},
    std::pair{analysis::EnginePreview::Change::kResources, "other workspace or behaviour"},
    std::pair{analysis::EnginePreview::Change::kSupportGained, "support gained"},
    std::pair{analysis::EnginePreview::Change::kUnknown, "unknown: only the engine's number"},
    std::pair{analysis::EnginePreview::Change::kNoEngine, "no engine without the driver"},
    std::pair{analysis::EnginePreview::Change::kSame, "same"}};

std::string_view verdict_of(analysis::EnginePreview::Change change) {
  switch (change) {
    case analysis::EnginePreview::Change::kSame:
      return "same";
    case analysis::EnginePreview::Change::kUnknown:
    case analysis::EnginePreview::Change::kNoEngine:
      return "unknown";
    default:
      return "changed";
  }
}

struct Count {
  std::int64_t comparisons = 0;
  std::int64_t nodes = 0;
};

Count count_changes(const analysis::EnginePreview& preview,
                    analysis::EnginePreview::Change change) {
  Count count;
  for (const analysis::EnginePreview::Comparison& one : preview.comparisons) {
    if (one.change == change) {
      ++count.comparisons;
      count.nodes += one.nodes;
    }
  }
  return count;
}

std::size_t layer_count(const analysis::EnginePreview& preview) {
  std::set<model::LayerKey> keys;
  for (const analysis::EnginePreview::Comparison& one : preview.comparisons) {
    keys.insert(one.key);
  }
  return keys.size();
}

std::string version_of(const PreviewReport::Side& side) {
  return results::fact_of(side.environment.facts, "library.version");
}

analysis::Json side_json(const PreviewReport::Side& side) {
  const auto library = side.environment.identity.find("library");
  return {{"stack", side.stack},
          {"library",
           library == side.environment.identity.end() ? analysis::Json()
                                                      : analysis::Json(library->second)},
          {"version", version_of(side)},
          {"facts", side.environment.facts}};
}

analysis::Json configuration_json(
    const std::optional<results::EngineChoices::Configuration>& configuration) {
  if (!configuration) {
    return {};
  }
  return {{"engine", configuration->engine},
          {"knobs", configuration->knobs},
          {"numerical_notes", configuration->numerical_notes},
          {"behaviour_notes", configuration->behaviour_notes},
          {"workspace_bytes", analysis::bytes_or_null(configuration->workspace)},
          {"shared_memory_bytes", analysis::bytes_or_null(configuration->shared_memory)},
          {"plan_sha256", configuration->plan_digest}};
}

analysis::Json comparison_json(const analysis::EnginePreview::Comparison& one) {
  analysis::Json models = analysis::Json::array();
  for (const analysis::EnginePreview::Use& use : one.uses) {
    models.push_back({{"model", use.model}, {"nodes", use.nodes}});
  }
  analysis::Json differences = analysis::Json::array();
  for (const analysis::EnginePreview::Comparison::Difference& difference : one.differences) {
    differences.push_back(
        {{"what", difference.what}, {"from", difference.from}, {"to", difference.to}});
  }
  analysis::Json row{{"key", one.key.text},
                     {"layout", one.layout},
                     {"verdict", verdict_of(one.change)},
                     {"change", to_text(one.change)},
                     {"nodes", one.nodes},
                     {"models", std::move(models)},
                     {"differences", std::move(differences)},
                     {"earlier_rank", analysis::number_or_null(one.earlier_rank)},
                     {"from", configuration_json(one.from)},
                     {"to", configuration_json(one.to)}};
  if (!one.reason.empty()) {
    row["reason"] = one.reason;
  }
  return row;
}

analysis::Json make_document(const PreviewReport& report) {
  analysis::Json summary{{"layers", layer_count(report.preview)},
                         {"comparisons", report.preview.comparisons.size()}};
  for (const auto& [change, words] : kChanges) {
    const Count count = count_changes(report.preview, change);
    summary[std::string(to_text(change))] = {{"comparisons", count.comparisons},
                                             {"nodes", count.nodes}};
  }
  analysis::Json not_covered = analysis::Json::array();
  for (const analysis::EnginePreview::NotCovered& entry : report.preview.not_covered) {
    not_covered.push_back(
        {{"op", entry.op}, {"reason", entry.reason}, {"keys", entry.keys}, {"nodes", entry.nodes}});
  }
  analysis::Json layers = analysis::Json::array();
  for (const analysis::EnginePreview::Comparison& one : report.preview.comparisons) {
    layers.push_back(comparison_json(one));
  }
  return {{"schema_version", analysis::kJsonSchemaVersion},
          {"suite", report.suite},
          {"gpu", {{"name", report.gpu}, {"profile", report.profile}}},
          {"dtype", report.dtype},
          {"from", side_json(report.from)},
          {"to", side_json(report.to)},
          {"summary", std::move(summary)},
          {"layers", std::move(layers)},
          {"not_covered", std::move(not_covered)}};
}

/// Returns the notable differences: "TILE_SIZE 5 → 7". Without any, it returns the reason.
std::string differences_text(const analysis::EnginePreview::Comparison& one) {
  std::string text;
  for (const analysis::EnginePreview::Comparison::Difference& difference : one.differences) {
    if (difference.what != "engine" || one.change == analysis::EnginePreview::Change::kUnknown) {
      text += fmt::format("{}{} {} → {}",
                          text.empty() ? "" : ", ",
                          difference.what,
                          difference.from,
                          difference.to);
    }
  }
  return text.empty() ? one.reason : text;
}

std::string models_text(const analysis::EnginePreview::Comparison& one) {
  if (one.uses.empty()) {
    return "–";
  }
  const std::string first = one.uses.front().model;
  return one.uses.size() == 1 ? first : fmt::format("{} +{}", first, one.uses.size() - 1);
}

void write_summary(const PreviewReport& report, std::ostream& out) {
  out << fmt::format("{} on a described {} ({})\n  from {} (cuDNN {})\n  to   {} (cuDNN {})\n\n",
                     sanitize_utf8(report.suite),
                     sanitize_utf8(report.gpu),
                     sanitize_utf8(report.dtype),
                     sanitize_utf8(report.from.stack),
                     sanitize_utf8(version_of(report.from)),
                     sanitize_utf8(report.to.stack),
                     sanitize_utf8(version_of(report.to)));
  AlignedTable table({{"  of the first choice"}, {"layers × layouts", true}, {"nodes", true}});
  for (const auto& [change, words] : kChanges) {
    const Count count = count_changes(report.preview, change);
    table.add({fmt::format("  {}", words),
               std::to_string(count.comparisons),
               std::to_string(count.nodes)});
  }
  table.write(out);
  for (const analysis::EnginePreview::NotCovered& entry : report.preview.not_covered) {
    out << fmt::format("  not covered: {} ({} keys, {} nodes): {}\n",
                       sanitize_utf8(entry.op),
                       entry.keys,
                       entry.nodes,
                       sanitize_utf8(entry.reason));
  }
}

}  // namespace

void write_preview(const PreviewReport& report, OutputMode style, std::ostream& out) {
  if (style == OutputMode::kJson) {
    return write_json(make_document(report), out);
  }
  write_summary(report, out);
  AlignedTable table({{"  change"},
                      {"nodes", true},
                      {"models"},
                      {"layout"},
                      {"ranked before", true},
                      {"difference"},
                      {"layer"}});
  std::size_t changed = 0;
  for (const analysis::EnginePreview::Comparison& one : report.preview.comparisons) {
    if (verdict_of(one.change) != "changed" || ++changed > kShownRows) {
      continue;
    }
    table.add({fmt::format("  {}", to_text(one.change)),
               std::to_string(one.nodes),
               models_text(one),
               one.layout,
               one.earlier_rank ? std::to_string(*one.earlier_rank) : "–",
               differences_text(one),
               one.key.text});
  }
  if (changed == 0) {
    return;
  }
  out << '\n';
  table.write(out);
  if (changed > kShownRows) {
    out << fmt::format("  and {} more, all of them with --json\n", changed - kShownRows);
  }
}

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

analysis::Json key_json(const analysis::HeuristicRegret::Group::KeyRegret& key) {
  return {{"key", key.key.text},
          {"ratio", key.ratio},
          {"intervals_overlap", key.within},
          {"choice", time_json(key.choice)},
          {"best", time_json(key.best)}};
}

analysis::Json group_json(const analysis::HeuristicRegret::Group& group) {
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
    for (const analysis::HeuristicRegret::Group& group : run.groups) {
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

std::string mean_text(const analysis::HeuristicRegret::Group& group) {
  if (group.keys.empty()) {
    return "–";
  }
  return group.mean.low
             ? fmt::format(
                   "{:.4f} ({:.4f} to {:.4f})", group.mean.mean, *group.mean.low, *group.mean.high)
             : fmt::format("{:.4f}", group.mean.mean);
}

std::string number_text(const analysis::HeuristicRegret::Group& group, double value) {
  return group.keys.empty() ? "–" : fmt::format("{:.3f}", value);
}

std::string percent_text(const analysis::HeuristicRegret::Group& group) {
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

PageRow summary_row(const analysis::HeuristicRegret& run,
                    const analysis::HeuristicRegret::Group& group) {
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
void add_worst(const analysis::HeuristicRegret::Group& group, Page& page) {
  const bool terminal = page.extent() == Extent::kTerminal;
  const auto text = [&](const measure::SampleSummary& time) {
    return terminal ? time_text(time.median) : interval_text(time);
  };
  PageTable table{.head = head_row("#regret|choice|#its time|best|#its time|key")};
  for (const analysis::HeuristicRegret::Group::KeyRegret& key : group.keys) {
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
    for (const analysis::HeuristicRegret::Group& group : run.groups) {
      summary.rows.push_back(summary_row(run, group));
    }
  }
  page.table(summary);
  for (const analysis::HeuristicRegret& run : report) {
    for (const analysis::HeuristicRegret::Group& group : run.groups) {
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
