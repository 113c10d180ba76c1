// SPDX-License-Identifier: Apache-2.0
#include "reporting/change_documents.hpp"

#include <fmt/format.h>

#include <ostream>

#include "reporting/aligned_table.hpp"
#include "reporting/json_documents.hpp"
#include "reporting/metric_rows.hpp"
#include "reporting/printable_text.hpp"

namespace plumb {
namespace {

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
                 change.before != 0.0 ? change_text(change.after / change.before) : "–",
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
