// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdint>
#include <ostream>
#include <string_view>

#include "reporting/content/comparison/history_documents.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/aligned_table.hpp"
#include "reporting/document/sanitized_text.hpp"

namespace plumb::reporting {
namespace {

constexpr std::array<std::string_view, 2> kParts{"tuning", "checking"};
constexpr std::string_view kSplit =
    "The detector was tuned on generated series alone. Parts are split by a hash of the id: tune "
    "on \"tuning\", report \"checking\".";

/// Returns the part of a series, by the 64-bit FNV-1a hash of its id.
std::string_view find_part(std::string_view id) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : id) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  return kParts.at((hash >> 32U) % kParts.size());
}

/// Means over the series of a part; an empty part means all.
struct Means {
  std::size_t series = 0;
  stats::SegmentationScore score;
  stats::SegmentationScore nothing;
};

Means compute_means(const Evaluation& evaluation, std::string_view part) {
  Means means;
  for (const Evaluation::Series& entry : evaluation.series) {
    if (part.empty() || find_part(entry.id) == part) {
      ++means.series;
      means.score.f1 += entry.score.f1;
      means.score.cover += entry.score.cover;
      means.nothing.f1 += entry.nothing.f1;
      means.nothing.cover += entry.nothing.cover;
    }
  }
  const double count = means.series == 0 ? 1.0 : static_cast<double>(means.series);
  for (double* value :
       {&means.score.f1, &means.score.cover, &means.nothing.f1, &means.nothing.cover}) {
    *value /= count;
  }
  return means;
}

analysis::Json score_json(const stats::SegmentationScore& score) {
  return {{"f1", score.f1}, {"cover", score.cover}};
}

analysis::Json means_json(const Means& means) {
  analysis::Json row = score_json(means.score);
  row["series"] = means.series;
  row["nothing"] = score_json(means.nothing);
  return row;
}

void write_text(const Evaluation& evaluation, std::ostream& out) {
  AlignedTable table({{"series"},
                      {"part"},
                      {"annotators", true},
                      {"found", true},
                      {"F1", true},
                      {"cover", true},
                      {"F1 of nothing", true},
                      {"cover of nothing", true}});
  const auto number = [](double value) { return fmt::format("{:.3f}", value); };
  for (const Evaluation::Series& entry : evaluation.series) {
    table.add({entry.id,
               std::string(find_part(entry.id)),
               std::to_string(entry.annotators),
               std::to_string(entry.found.size()),
               number(entry.score.f1),
               number(entry.score.cover),
               number(entry.nothing.f1),
               number(entry.nothing.cover)});
  }
  for (const std::string_view part : {kParts[0], kParts[1], std::string_view()}) {
    const Means means = compute_means(evaluation, part);
    table.add({fmt::format("mean of {}", means.series),
               std::string(part.empty() ? "all" : part),
               "",
               "",
               number(means.score.f1),
               number(means.score.cover),
               number(means.nothing.f1),
               number(means.nothing.cover)});
  }
  table.write(out);
  out << '\n' << kSplit << '\n';
  if (!evaluation.skipped.empty()) {
    out << fmt::format("Skipped, of several dimensions, empty, or without a file: {}\n",
                       sanitize_utf8(fmt::format("{}", fmt::join(evaluation.skipped, ", "))));
  }
}

}  // namespace

void write_evaluation(const Evaluation& evaluation, OutputMode style, std::ostream& out) {
  if (style == OutputMode::kText) {
    write_text(evaluation, out);
    return;
  }
  constexpr std::size_t kMargin = 5;
  analysis::Json rows = analysis::Json::array();
  for (const Evaluation::Series& entry : evaluation.series) {
    analysis::Json row = score_json(entry.score);
    row["id"] = entry.id;
    row["part"] = find_part(entry.id);
    row["annotators"] = entry.annotators;
    row["change_points"] = entry.found;
    row["nothing"] = score_json(entry.nothing);
    rows.push_back(std::move(row));
  }
  analysis::Json means{{"all", means_json(compute_means(evaluation, {}))}};
  for (const std::string_view part : kParts) {
    means[std::string(part)] = means_json(compute_means(evaluation, part));
  }
  write_json(analysis::Json{{"schema_version", analysis::kJsonSchemaVersion},
                            {"margin", kMargin},
                            {"split", kSplit},
                            {"series", std::move(rows)},
                            {"means", std::move(means)},
                            {"skipped", evaluation.skipped}},
             out);
}

}  // namespace plumb::reporting
