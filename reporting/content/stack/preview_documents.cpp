// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <ostream>
#include <set>
#include <utility>

#include "reporting/content/run/json_documents.hpp"
#include "reporting/content/stack/stack_documents.hpp"
#include "reporting/document/aligned_table.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {
namespace {

constexpr std::size_t kShownRows = 40;

constexpr std::array kChanges{
    std::pair{analysis::EngineChange::kSupportLost, "support lost"},
    std::pair{analysis::EngineChange::kNumerics, "other numerical notes"},
    std::pair{analysis::EngineChange::kKnobs, "other tile or knobs"},
    std::pair{analysis::EngineChange::kResources, "other workspace or behaviour"},
    std::pair{analysis::EngineChange::kSupportGained, "support gained"},
    std::pair{analysis::EngineChange::kUnknown, "unknown: only the engine's number"},
    std::pair{analysis::EngineChange::kNoEngine, "no engine without the driver"},
    std::pair{analysis::EngineChange::kSame, "same"}};

std::string_view verdict_of(analysis::EngineChange change) {
  switch (change) {
    case analysis::EngineChange::kSame:
      return "same";
    case analysis::EngineChange::kUnknown:
    case analysis::EngineChange::kNoEngine:
      return "unknown";
    default:
      return "changed";
  }
}

struct Count {
  std::int64_t comparisons = 0;
  std::int64_t nodes = 0;
};

Count count_changes(const analysis::EnginePreview& preview, analysis::EngineChange change) {
  Count count;
  for (const analysis::EngineComparison& one : preview.comparisons) {
    if (one.change == change) {
      ++count.comparisons;
      count.nodes += one.nodes;
    }
  }
  return count;
}

std::size_t layer_count(const analysis::EnginePreview& preview) {
  std::set<model::LayerKey> keys;
  for (const analysis::EngineComparison& one : preview.comparisons) {
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
    const std::optional<results::EngineConfiguration>& configuration) {
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

analysis::Json comparison_json(const analysis::EngineComparison& one) {
  analysis::Json models = analysis::Json::array();
  for (const analysis::LayerUse& use : one.uses) {
    models.push_back({{"model", use.model}, {"nodes", use.nodes}});
  }
  analysis::Json differences = analysis::Json::array();
  for (const analysis::EngineComparison::Difference& difference : one.differences) {
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
  for (const analysis::EngineComparison& one : report.preview.comparisons) {
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
std::string differences_text(const analysis::EngineComparison& one) {
  std::string text;
  for (const analysis::EngineComparison::Difference& difference : one.differences) {
    if (difference.what != "engine" || one.change == analysis::EngineChange::kUnknown) {
      text += fmt::format("{}{} {} → {}",
                          text.empty() ? "" : ", ",
                          difference.what,
                          difference.from,
                          difference.to);
    }
  }
  return text.empty() ? one.reason : text;
}

std::string models_text(const analysis::EngineComparison& one) {
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
  for (const analysis::EngineComparison& one : report.preview.comparisons) {
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

}  // namespace plumb::reporting
