// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/report/comparison_json.hpp"

namespace plumb::analysis {
namespace {

Json number_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

constexpr double kNormal95 = 1.959964;

Json term_json(double seconds, double error) {
  return {{"seconds", seconds},
          {"interval", {seconds - kNormal95 * error, seconds + kNormal95 * error}}};
}

Json boots_json(const std::vector<Boot>& boots) {
  Json list = Json::array();
  for (const Boot& boot : boots) {
    list.push_back({{"boot", boot.id}, {"runs", boot.runs}, {"control_seconds", boot.control}});
  }
  return list;
}

Json not_compared_json(std::span<const NotCompared> all) {
  Json list = Json::array();
  for (const NotCompared& each : all) {
    list.push_back({{"series", each.series},
                    {"outcome", to_text(each.candidate.kind)},
                    {"baseline_reason", each.baseline.reason},
                    {"candidate_reason", each.candidate.reason}});
  }
  return list;
}

Json applied_json(const RunComparisonReport& report) {
  Json list = Json::array();
  for (const AppliedExclusion& each : report.exclusions) {
    list.push_back(exclusions_json({&each.exclusion, 1}, day_of(report.candidate.header)).front());
    list.back()["metrics"] = Json::array();
    for (const MetricComparison& metric : each.metrics) {
      list.back()["metrics"].push_back(metric_json(metric));
    }
  }
  return list;
}

/// Returns the fields that every comparison of runs has.
Json run_document(const RunComparisonReport& report) {
  const RunComparison& comparison = report.comparison;
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
    const auto place = report.places.find(layer_key_of(metric));
    if (place != report.places.end()) {
      metrics.back()["place"] = place->second;
    }
  }
  return Json{{"schema_version", kJsonSchemaVersion},
              {"baseline", report.baseline.header.id},
              {"candidate", report.candidate.header.id},
              {"verdict", to_text(comparison.verdict)},
              {"varied", report.varied},
              {"same_software", report.same_software},
              {"limits",
               {{"alpha", report.limits.alpha},
                {"false_discovery_rate", report.limits.false_discovery_rate},
                {"end_to_end_floor", report.limits.end_to_end_floor},
                {"layer_floor", report.limits.layer_floor}}},
              {"environment_diff", std::move(diff)},
              {"calibrations", report.calibrations},
              {"metrics", std::move(metrics)},
              {"overall", comparison.overall ? overall_json(*comparison.overall) : Json()},
              {"not_compared", not_compared_json(comparison.not_compared)},
              {"exclusions", applied_json(report)}};
}

}  // namespace

Json metric_json(const MetricComparison& metric) {
  const bool compared = metric.ratio.has_value();
  const bool timed = compared && !metric.in_bytes;
  Json row{{"series", metric.series},
           {"kind", to_text(metric.kind)},
           {"baseline_seconds", timed ? Json(metric.baseline) : Json()},
           {"candidate_seconds", timed ? Json(metric.candidate) : Json()},
           {"ratio", number_or_null(metric.ratio)},
           {"interval", compared && metric.has_interval ? Json{metric.low, metric.high} : Json()},
           {"q", number_or_null(metric.q)},
           {"mde", number_or_null(metric.mde)},
           {"verdict", to_text(metric.verdict)},
           {"causes", Json::array()}};
  if (metric.decides) {
    row["decides"] = true;
  }
  if (metric.confirmed) {
    row["confirmed"] = *metric.confirmed;
  }
  if (metric.in_bytes) {
    row["baseline_bytes"] = metric.baseline;
    row["candidate_bytes"] = metric.candidate;
  }
  for (const Cause& cause : metric.causes) {
    row["causes"].push_back(
        {{"cause", cause.cause}, {"share", cause.share}, {"evidence", cause.evidence}});
  }
  if (metric.floor) {
    row["floor"] = metric.floor->relative;
    row["floor_source"] = to_text(metric.floor->source);
  }
  if (!metric.reason.empty()) {
    row["reason"] = metric.reason;
  }
  if (metric.levels) {
    const auto count_json = [](const stats::LevelCount& count) {
      return Json{{"low", count.low}, {"high", count.high}};
    };
    row["levels"] = {{"low_seconds", metric.levels->low_seconds},
                     {"high_seconds", metric.levels->high_seconds},
                     {"known_processes", count_json(metric.levels->known)},
                     {"baseline_processes", count_json(metric.levels->baseline)},
                     {"candidate_processes", count_json(metric.levels->candidate)},
                     {"suspected_cause", metric.levels->suspected_cause}};
  }
  if (metric.output) {
    row["output"] = {{"same_bits", metric.output->same_bits},
                     {"baseline_maximum_error", number_or_null(metric.output->baseline_error)},
                     {"candidate_maximum_error", number_or_null(metric.output->candidate_error)}};
  }
  return row;
}

Json overall_json(const OverallChange& overall) {
  Json document = metric_json(overall.metric);
  document["metrics"] = overall.metrics;
  document["slower"] = overall.slower;
  document["faster"] = overall.faster;
  return document;
}

Json attributions_json(std::span<const ModelAttribution> attributions) {
  Json list = Json::array();
  for (const ModelAttribution& split : attributions) {
    Json layers = Json::array();
    for (const ModelAttribution::Term& term : split.layers) {
      layers.push_back(term_json(term.seconds, term.error));
      layers.back().update({{"layer", term.layer},
                            {"baseline_variant", term.baseline_variant},
                            {"candidate_variant", term.candidate_variant}});
    }
    list.push_back(
        {{"model", split.subject},
         {"mode", split.mode},
         {"delta", term_json(split.delta_seconds, split.delta_error)},
         {"layers", std::move(layers)},
         {"reorders", term_json(split.reorder_seconds, split.reorder_error)},
         {"unmatched", term_json(split.unmatched_seconds, split.unmatched_error)},
         {"unexplained", term_json(split.unexplained_seconds, split.unexplained_error)}});
  }
  return list;
}

Json findings_json(std::span<const QualificationFinding> findings) {
  Json list = Json::array();
  for (const QualificationFinding& finding : findings) {
    list.push_back({{"cause", finding.cause},
                    {"evidence", finding.evidence},
                    {"layers", finding.layers},
                    {"models", finding.models},
                    {"delta_seconds", finding.delta_seconds}});
  }
  return list;
}

Json comparison_document(const RunComparisonReport& report) {
  const RunComparison& comparison = report.comparison;
  Json document = run_document(report);
  if (report.boots) {
    document["boots"] = {{"baseline", boots_json(report.boots->baseline)},
                         {"candidate", boots_json(report.boots->candidate)}};
  } else {
    document["attributions"] = attributions_json(comparison.attributions);
    document["findings"] = findings_json(comparison.findings);
    document["functions"] = function_findings_json(report.functions);
    document["profile_with"] = report.profile_with.empty() ? Json() : Json(report.profile_with);
    document["process_deviation"] = {{"relative", comparison.deviation.relative},
                                     {"pairs", comparison.deviation.pairs},
                                     {"assumed", comparison.deviation.pairs < kMinDeviationPairs}};
  }
  return document;
}

}  // namespace plumb::analysis
