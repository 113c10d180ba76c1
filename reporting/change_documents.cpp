// SPDX-License-Identifier: Apache-2.0
#include "reporting/change_documents.hpp"

#include <fmt/format.h>

#include <ostream>

#include "reporting/aligned_table.hpp"
#include "reporting/json_documents.hpp"
#include "reporting/printable_text.hpp"
#include "reporting/quantity_text.hpp"

namespace plumb {
namespace {

Json number_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json metric_json(const MetricComparison& metric) {
  const bool compared = metric.ratio.has_value();
  Json row{{"series", metric.series},
           {"kind", metric.kind},
           {"baseline_seconds", compared ? Json(metric.baseline) : Json()},
           {"candidate_seconds", compared ? Json(metric.candidate) : Json()},
           {"ratio", number_or_null(metric.ratio)},
           {"interval", compared ? Json{metric.low, metric.high} : Json()},
           {"q", number_or_null(metric.q)},
           {"mde", number_or_null(metric.mde)},
           {"verdict", to_text(metric.verdict)},
           {"causes", Json::array()}};
  for (const Cause& cause : metric.causes) {
    row["causes"].push_back(
        {{"cause", cause.cause}, {"share", cause.share}, {"evidence", cause.evidence}});
  }
  if (!metric.reason.empty()) {
    row["reason"] = metric.reason;
  }
  return row;
}

Json comparison_json(const PairedAnswer& answer) {
  Json metrics = Json::array();
  for (const MetricComparison& metric : answer.metrics) {
    metrics.push_back(metric_json(metric));
  }
  Json row{{"id", answer.id}, {"verdict", to_text(answer.verdict)}, {"metrics", metrics}};
  row["attribution"] = Json();
  if (answer.attribution) {
    row["attribution"] = Json{{"delta_seconds", answer.attribution->delta_seconds},
                              {"layers", answer.attribution->layers},
                              {"unexplained_seconds", answer.attribution->unexplained_seconds}};
  }
  return row;
}

std::string percent_text(double ratio) {
  return fmt::format("{:+.2f} %", (ratio - 1.0) * 100.0);
}

void write_metrics(std::span<const MetricComparison> metrics, std::ostream& out) {
  constexpr std::size_t kUnchangedAtMost = 10;
  AlignedTable table({{"  baseline", true},
                      {"candidate", true},
                      {"change", true},
                      {"95 %", true},
                      {"q", true},
                      {"detectable", true},
                      {"verdict"},
                      {"metric"}});
  std::size_t unchanged = 0;
  for (const MetricComparison& metric : metrics) {
    const bool quiet = metric.verdict == ComparisonVerdict::kEquivalent ||
                       metric.verdict == ComparisonVerdict::kInconclusive;
    const bool layer = metric.kind == "layer" || metric.kind == "capability";
    if (layer && quiet && ++unchanged > kUnchangedAtMost) {
      continue;
    }
    const bool compared = metric.ratio.has_value();
    const std::string reason = metric.reason.empty() ? "" : ": " + metric.reason;
    table.add({compared ? time_text(Seconds(metric.baseline)) : "–",
               compared ? time_text(Seconds(metric.candidate)) : "–",
               compared ? percent_text(*metric.ratio) : "–",
               compared ? percent_text(metric.low) + " … " + percent_text(metric.high) : "–",
               metric.q ? fmt::format("{:.2g}", *metric.q) : "–",
               metric.mde ? fmt::format("{:.2f} %", *metric.mde * 100.0) : "–",
               std::string(to_text(metric.verdict)) + reason,
               metric.series});
  }
  table.write(out);
  if (unchanged > kUnchangedAtMost) {
    out << fmt::format(
        "  and {} more metrics of layers without a change, all of them with --json\n",
        unchanged - kUnchangedAtMost);
  }
  for (const MetricComparison& metric : metrics) {
    for (const Cause& cause : metric.causes) {
      out << fmt::format("  {}: {} ({:.0f} %): {}\n",
                         printable(metric.series),
                         cause.cause,
                         100.0 * cause.share,
                         printable(cause.evidence));
    }
  }
}

void write_comparison(const PairedAnswer& answer, std::ostream& out) {
  out << fmt::format("{}: {}\n", printable(answer.id), to_text(answer.verdict));
  write_metrics(answer.metrics, out);
  if (answer.attribution) {
    out << fmt::format("  end to end {:+.4g} s, of which layers {:+.4g} s, unexplained {:+.4g} s\n",
                       answer.attribution->delta_seconds,
                       answer.attribution->delta_seconds - answer.attribution->unexplained_seconds,
                       answer.attribution->unexplained_seconds);
  }
  out << '\n';
}

}  // namespace

void write_comparisons(std::span<const PairedAnswer> answers, Style style, std::ostream& out) {
  if (style == Style::kText) {
    for (const PairedAnswer& answer : answers) {
      write_comparison(answer, out);
    }
    return;
  }
  Json document{{"schema_version", kJsonSchemaVersion}, {"comparisons", Json::array()}};
  for (const PairedAnswer& answer : answers) {
    document["comparisons"].push_back(comparison_json(answer));
  }
  write_json(document, out);
}

void write_run_comparison(const RunComparisonReport& report, Style style, std::ostream& out) {
  const RunComparison& comparison = report.comparison;
  if (style == Style::kText) {
    out << fmt::format("{} → {}: {}\n\n",
                       report.baseline.header.id,
                       report.candidate.header.id,
                       to_text(comparison.verdict));
    for (const EnvironmentDifference& difference : report.environment_diff) {
      out << fmt::format("  {}{}: {} → {}\n",
                         difference.identity ? "" : "(recorded) ",
                         printable(difference.name),
                         printable(difference.baseline),
                         printable(difference.candidate));
    }
    out << fmt::format("  between processes: {:.2f} % ({})\n\n",
                       100.0 * comparison.deviation.relative,
                       comparison.deviation.pairs >= kLeastDeviationPairs
                           ? fmt::format("from {} confirmed variants", comparison.deviation.pairs)
                           : "assumed: too few confirmed variants");
    write_metrics(comparison.metrics, out);
    return;
  }
  Json diff = Json::array();
  for (const EnvironmentDifference& difference : report.environment_diff) {
    diff.push_back({{"fact", difference.name},
                    {"baseline", difference.baseline},
                    {"candidate", difference.candidate},
                    {"identity", difference.identity}});
  }
  Json metrics = Json::array();
  for (const MetricComparison& metric : comparison.metrics) {
    metrics.push_back(metric_json(metric));
  }
  write_json(Json{{"schema_version", kJsonSchemaVersion},
                  {"baseline", report.baseline.header.id},
                  {"candidate", report.candidate.header.id},
                  {"verdict", to_text(comparison.verdict)},
                  {"environment_diff", std::move(diff)},
                  {"process_deviation",
                   {{"relative", comparison.deviation.relative},
                    {"pairs", comparison.deviation.pairs},
                    {"assumed", comparison.deviation.pairs < kLeastDeviationPairs}}},
                  {"metrics", std::move(metrics)}},
             out);
}

void write_detections(std::span<const SeriesDetection> series, Style style, std::ostream& out) {
  if (style == Style::kText) {
    AlignedTable table({{"series"},
                        {"point", true},
                        {"before", true},
                        {"after", true},
                        {"change", true},
                        {"what"}});
    const auto add = [&](const std::string& id, auto& change, const std::string& what) {
      table.add({id,
                 fmt::format("{}", change.index),
                 fmt::format("{:.6g}", change.before),
                 fmt::format("{:.6g}", change.after),
                 change.before != 0.0 ? percent_text(change.after / change.before) : "–",
                 what});
    };
    for (const SeriesDetection& entry : series) {
      for (const ChangePoint& point : entry.detection.change_points) {
        add(entry.id, point, fmt::format("change, confidence {:.4f}", point.confidence));
      }
      for (const Suspicion& suspicion : entry.detection.suspicions) {
        add(entry.id, suspicion, "suspicion: measure again");
      }
      if (entry.detection.two_states) {
        table.add({entry.id, "–", "–", "–", "–", "jumps between two states: no change"});
      }
    }
    table.write(out);
    return;
  }
  Json rows = Json::array();
  for (const SeriesDetection& entry : series) {
    Json points = Json::array();
    for (const ChangePoint& point : entry.detection.change_points) {
      points.push_back({{"index", point.index},
                        {"before", point.before},
                        {"after", point.after},
                        {"confidence", point.confidence}});
    }
    Json suspicions = Json::array();
    for (const Suspicion& suspicion : entry.detection.suspicions) {
      suspicions.push_back(
          {{"index", suspicion.index}, {"before", suspicion.before}, {"after", suspicion.after}});
    }
    rows.push_back({{"id", entry.id},
                    {"change_points", std::move(points)},
                    {"suspicions", std::move(suspicions)},
                    {"two_states", entry.detection.two_states}});
  }
  write_json(Json{{"schema_version", kJsonSchemaVersion}, {"series", std::move(rows)}}, out);
}

}  // namespace plumb
