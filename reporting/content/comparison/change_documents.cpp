// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/comparison/change_documents.hpp"

#include <fmt/format.h>

#include <ostream>

#include "harness/analysis/report/comparison_json.hpp"
#include "reporting/content/comparison/metric_table.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/aligned_table.hpp"
#include "reporting/formats/text_page.hpp"

namespace plumb::reporting {
namespace {

analysis::Json comparison_json(const analysis::PairedAnswer& answer) {
  analysis::Json metrics = analysis::Json::array();
  for (const analysis::MetricComparison& metric : answer.metrics) {
    metrics.push_back(analysis::metric_json(metric));
  }
  analysis::Json row{{"id", answer.id}, {"verdict", to_text(answer.verdict)}, {"metrics", metrics}};
  row["attribution"] = analysis::Json();
  if (answer.attribution) {
    row["attribution"] =
        analysis::Json{{"delta_seconds", answer.attribution->delta_seconds},
                       {"layers", answer.attribution->layers},
                       {"unexplained_seconds", answer.attribution->unexplained_seconds}};
  }
  return row;
}

void write_comparison(const analysis::PairedAnswer& answer, std::ostream& out) {
  TextPage page(fmt::format("{}: {}", answer.id, to_text(answer.verdict)));
  add_short_metrics(answer.metrics, {}, page);
  if (answer.attribution) {
    page.paragraph(
        fmt::format("end to end {:+.4g} s, of which layers {:+.4g} s, unexplained {:+.4g} s",
                    answer.attribution->delta_seconds,
                    answer.attribution->delta_seconds - answer.attribution->unexplained_seconds,
                    answer.attribution->unexplained_seconds));
  }
  page.write(out);
  out << '\n';
}

analysis::Json detection_json(const SeriesDetection& entry) {
  const stats::Detection& detection = entry.detection;
  analysis::Json points = analysis::Json::array();
  for (const stats::ChangePoint& point : detection.change_points) {
    points.push_back(change_point_json(point));
  }
  analysis::Json suspicions = analysis::Json::array();
  for (const stats::Suspicion& suspicion : detection.suspicions) {
    suspicions.push_back(
        {{"index", suspicion.index}, {"before", suspicion.before}, {"after", suspicion.after}});
  }
  analysis::Json states = analysis::Json::array();
  for (const stats::StateChange& change : detection.state_changes) {
    states.push_back(change_point_json(change));
    states.back()["kind"] = to_text(change.kind);
  }
  analysis::Json row{{"id", entry.id},
                     {"change_points", std::move(points)},
                     {"suspicions", std::move(suspicions)},
                     {"two_states", detection.two_states},
                     {"state_changes", std::move(states)},
                     {"creep", analysis::Json()}};
  if (detection.creep) {
    row["creep"] = {{"slope", detection.creep->slope},
                    {"before", detection.creep->before},
                    {"after", detection.creep->after},
                    {"confidence", detection.creep->confidence}};
  }
  if (detection.variance_changes) {
    row["variance_changes"] = analysis::Json::array();
    for (const stats::ChangePoint& change : *detection.variance_changes) {
      row["variance_changes"].push_back(change_point_json(change));
    }
  }
  return row;
}

/// Adds what was found in one history to a table.
void add_detection(const SeriesDetection& entry, AlignedTable& table) {
  const stats::Detection& detection = entry.detection;
  const auto add = [&](const std::string& point, const auto& change, const std::string& what) {
    table.add({entry.id,
               point,
               fmt::format("{:.6g}", change.before),
               fmt::format("{:.6g}", change.after),
               change.before != 0.0 ? change_text(change.after / change.before) : "–",
               what});
  };
  for (const stats::ChangePoint& point : detection.change_points) {
    add(std::to_string(point.index),
        point,
        fmt::format("change, confidence {:.4f}", point.confidence));
  }
  for (const stats::Suspicion& suspicion : detection.suspicions) {
    add(std::to_string(suspicion.index), suspicion, "suspicion: measure again");
  }
  for (const stats::StateChange& change : detection.state_changes) {
    add(std::to_string(change.index),
        change,
        fmt::format("{} changed, confidence {:.4f}", to_text(change.kind), change.confidence));
  }
  if (detection.creep) {
    add("–",
        *detection.creep,
        fmt::format("creep, {:+.4g} for each point", detection.creep->slope));
  }
  if (detection.variance_changes) {
    for (const stats::ChangePoint& change : *detection.variance_changes) {
      add(std::to_string(change.index),
          change,
          fmt::format("deviation changed, confidence {:.4f}", change.confidence));
    }
  }
  if (detection.two_states) {
    table.add({entry.id, "–", "–", "–", "–", "jumps between two states"});
  }
}

}  // namespace

analysis::Json change_point_json(const stats::ChangePoint& change) {
  return {{"index", change.index},
          {"before", change.before},
          {"after", change.after},
          {"confidence", change.confidence}};
}

void write_comparisons(std::span<const analysis::PairedAnswer> answers,
                       OutputMode style,
                       std::ostream& out) {
  if (style == OutputMode::kText) {
    for (const analysis::PairedAnswer& answer : answers) {
      write_comparison(answer, out);
    }
    return;
  }
  analysis::Json document{{"schema_version", analysis::kJsonSchemaVersion},
                          {"comparisons", analysis::Json::array()}};
  for (const analysis::PairedAnswer& answer : answers) {
    document["comparisons"].push_back(comparison_json(answer));
  }
  write_json(document, out);
}

void write_detections(std::span<const SeriesDetection> series,
                      OutputMode style,
                      std::ostream& out) {
  if (style == OutputMode::kText) {
    AlignedTable table({{"series"},
                        {"point", true},
                        {"before", true},
                        {"after", true},
                        {"change", true},
                        {"what"}});
    for (const SeriesDetection& entry : series) {
      add_detection(entry, table);
    }
    table.write(out);
    return;
  }
  analysis::Json rows = analysis::Json::array();
  for (const SeriesDetection& entry : series) {
    rows.push_back(detection_json(entry));
  }
  write_json(
      analysis::Json{{"schema_version", analysis::kJsonSchemaVersion}, {"series", std::move(rows)}},
      out);
}

}  // namespace plumb::reporting
