// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/report/change_json.hpp"

#include <array>
#include <utility>

#include "harness/analysis/compare/comparison_fields.hpp"
#include "harness/analysis/report/run_json.hpp"

namespace plumb::analysis {

template <typename Fields>
void describe(Fields& fields, Described<Fields, MetricComparison::Levels>& value) {
  const auto processes = [&](const char* name, auto& count) {
    fields.nested(name, [&](auto& nested) {
      nested("low", count.low);
      nested("high", count.high);
    });
  };
  fields("low_seconds", value.low_seconds);
  fields("high_seconds", value.high_seconds);
  processes("known_processes", value.known);
  processes("baseline_processes", value.baseline);
  processes("candidate_processes", value.candidate);
  fields("suspected_cause", value.suspected_cause);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, MetricComparison::Output>& value) {
  fields("same_bits", value.same_bits);
  fields("baseline_maximum_error", value.baseline_error);
  fields("candidate_maximum_error", value.candidate_error);
}
namespace {

constexpr double kNormal95 = 1.959964;

Json term_json(double seconds, double error) {
  return {{"seconds", seconds},
          {"interval", {seconds - kNormal95 * error, seconds + kNormal95 * error}}};
}

Json boots_json(const std::vector<BootComparison::Boot>& boots) {
  Json list = Json::array();
  for (const BootComparison::Boot& boot : boots) {
    list.push_back({{"boot", boot.id}, {"runs", boot.runs}, {"control_seconds", boot.control}});
  }
  return list;
}

Json not_compared_json(std::span<const RunComparison::NotCompared> all) {
  Json list = Json::array();
  for (const RunComparison::NotCompared& each : all) {
    list.push_back({{"series", each.series},
                    {"outcome", to_text(each.candidate.kind)},
                    {"baseline_reason", each.baseline.reason},
                    {"candidate_reason", each.candidate.reason}});
  }
  return list;
}

Json applied_json(const ComparisonReport& report) {
  Json list = Json::array();
  for (const ComparisonReport::AppliedExclusion& each : report.exclusions) {
    list.push_back(exclusions_json({&each.exclusion, 1}, day_of(report.candidate.header)).front());
    list.back()["metrics"] = Json::array();
    for (const MetricComparison& metric : each.metrics) {
      list.back()["metrics"].push_back(metric_json(metric));
    }
  }
  return list;
}

/// Returns the fields that every comparison of runs has.
Json run_document(const ComparisonReport& report) {
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
  results::FieldWriter<Json> fields;
  fields("series", metric.series);
  fields("kind", metric.kind, kMetricKinds);
  describe_change(fields, metric);
  fields("mde", metric.mde);
  fields("verdict", metric.verdict, kVerdicts);
  fields("causes", metric.causes);
  if (metric.decides) {
    fields("decides", true);
  }
  fields.unless_empty("confirmed", metric.confirmed);
  if (metric.in_bytes) {
    fields("baseline_bytes", metric.baseline);
    fields("candidate_bytes", metric.candidate);
  }
  describe_floor(fields, metric);
  fields.unless_empty("reason", metric.reason);
  fields.unless_empty("levels", metric.levels);
  fields.unless_empty("output", metric.output);
  return fields.take();
}

Json overall_json(const RunComparison::Overall& overall) {
  Json document = metric_json(overall.metric);
  document["metrics"] = overall.metrics;
  document["slower"] = overall.slower;
  document["faster"] = overall.faster;
  return document;
}

Json attributions_json(std::span<const RunComparison::Attribution> attributions) {
  Json list = Json::array();
  for (const RunComparison::Attribution& split : attributions) {
    Json layers = Json::array();
    for (const RunComparison::Attribution::Term& term : split.layers) {
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

Json findings_json(std::span<const RunComparison::Finding> findings) {
  Json list = Json::array();
  for (const RunComparison::Finding& finding : findings) {
    list.push_back({{"cause", finding.cause},
                    {"evidence", finding.evidence},
                    {"layers", finding.layers},
                    {"models", finding.models},
                    {"delta_seconds", finding.delta_seconds}});
  }
  return list;
}

Json comparison_document(const ComparisonReport& report) {
  const RunComparison& comparison = report.comparison;
  Json document = run_document(report);
  if (report.boots) {
    document["boots"] = {{"baseline", boots_json(report.boots->baseline)},
                         {"candidate", boots_json(report.boots->candidate)}};
  } else {
    document["attributions"] = attributions_json(comparison.attributions);
    document["findings"] = findings_json(comparison.findings);
    document["functions"] = results::json_of<Json>(report.functions);
    document["profile_with"] = report.profile_with.empty() ? Json() : Json(report.profile_with);
    document["process_deviation"] = {{"relative", comparison.deviation.relative},
                                     {"pairs", comparison.deviation.pairs},
                                     {"assumed", comparison.deviation.pairs < kMinDeviationPairs}};
  }
  return document;
}

namespace {

constexpr std::array kPurposes{Bisection::Search::Task::Purpose::kEnds,
                               Bisection::Search::Task::Purpose::kSearch,
                               Bisection::Search::Task::Purpose::kConfirmation};
constexpr std::array kStates{Bisection::Search::State::kGood,
                             Bisection::Search::State::kBad,
                             Bisection::Search::State::kUnknown,
                             Bisection::Search::State::kSkipped};

/// Describes a step. What is written also names the candidate, for which the search is needed.
template <typename Fields>
void describe_step(Fields& fields, Described<Fields, Bisection::Step>& value, const Bisection* of) {
  fields("purpose", value.task.purpose, kPurposes);
  fields("candidate", value.task.candidate);
  fields("against", value.task.against);
  if (of != nullptr) {
    const Bisection::Candidate& candidate = of->line[value.task.candidate];
    const bool commit = of->unit == Bisection::Unit::kCommit;
    fields.derived(commit ? "commit" : "stack", [&] { return candidate.name; });
    fields.derived(commit ? "commit_subject" : "version", [&] { return candidate.about; });
  }
  fields("state", value.state, kStates);
  fields.null_if_empty("subject", value.subject.name);
  fields.null_if_empty("mode", value.subject.mode);
  fields("verdict", value.test.verdict, kVerdicts);
  fields("reason", value.test.reason);
  describe_change(fields, value.test);
  fields("pairs", value.pairs);
  fields("baseline_variant", value.baseline_variant);
  fields("candidate_variant", value.candidate_variant);
  fields("baseline_run", value.baseline_run);
  fields("run", value.run);
  fields.null_if_empty("problem", value.problem);
  fields.null_if_empty("log", value.log);
  fields("log_tail", value.tail);
  fields("builds", value.builds);
}

}  // namespace

Json step_json(const Bisection::Step& step, const Bisection& bisection) {
  results::FieldWriter<Json> fields;
  describe_step(fields, step, &bisection);
  return fields.take();
}

Bisection::Step step_from_json(const nlohmann::json& document) {
  Bisection::Step step;
  results::FieldReader fields{results::JsonObject(document)};
  describe_step(fields, step, nullptr);
  return step;
}

Json bisection_document(const Bisection& bisection) {
  Json names = Json::array();
  for (const Bisection::Candidate& candidate : bisection.line) {
    names.push_back(candidate.name);
  }
  Json steps = Json::array();
  for (const Bisection::Step& step : bisection.steps) {
    steps.push_back(step_json(step, bisection));
  }
  Json range = Json::array();
  for (std::size_t i = bisection.last_good + 1; bisection.found() && i <= bisection.first_bad;
       ++i) {
    range.push_back(bisection.line[i].name);
  }
  const std::optional<Bisection::Subject>& subject = bisection.subject;
  Json document = new_document();
  document["what"] = bisection.what;
  document["key"] = subject && subject->mode.empty() ? Json(subject->name) : Json();
  document["model"] = subject && !subject->mode.empty() ? Json(subject->name) : Json();
  document["mode"] = subject ? text_or_null(subject->mode) : Json();
  document[std::string(to_text(bisection.unit)) + "s"] = std::move(names);
  document["last_good"] = bisection.line.at(bisection.last_good).name;
  document["first_bad"] =
      bisection.found() ? Json(bisection.line.at(bisection.first_bad).name) : Json();
  document["exact"] = bisection.exact();
  document["confirmed"] = bisection.confirmed();
  document["range"] = std::move(range);
  document["complete"] = bisection.complete;
  document["builds"] = bisection.builds;
  document["reason"] = conclusion(bisection);
  document["steps"] = std::move(steps);
  return document;
}

Json noise_document(const NoiseReport& report) {
  const NoiseReport::Study& noise = report.noise;
  Json metrics = Json::array();
  for (const NoiseReport::Study::MetricNoise& metric : noise.metrics) {
    metrics.push_back({{"series", metric.series},
                       {"kind", to_text(metric.kind)},
                       {"pairs", metric.pairs},
                       {"days", metric.days},
                       {"median_seconds", metric.median},
                       {"within", metric.within},
                       {"between", metric.between},
                       {"daily", number_or_null(metric.daily)},
                       {"process", metric.process},
                       {"autocorrelation", metric.autocorrelation},
                       {"drift", metric.drift},
                       {"floor", metric.floor}});
  }
  Json alarms = Json::array();
  for (const NoiseReport::Study::FalsePositiveRate& rate : noise.alarms) {
    alarms.push_back({{"alpha", rate.alpha},
                      {"rate", rate.rate},
                      {"band", {rate.low, rate.high}},
                      {"in_band", rate.in_band()}});
  }
  Json power = Json::array();
  for (const NoiseReport::Study::PowerPoint& point : noise.power) {
    power.push_back({{"change", point.change}, {"found", point.found}, {"least", point.least}});
  }
  return {{"schema_version", kJsonSchemaVersion},
          {"suite", report.suite},
          {"stack", report.stack},
          {"environment", report.environment},
          {"run", report.first},
          {"second_run", report.second},
          {"calibrations", report.calibrations},
          {"comparisons", noise.comparisons},
          {"pairs", noise.pairs},
          {"metrics", std::move(metrics)},
          {"alarms", std::move(alarms)},
          {"family_alarms", noise.family_alarms},
          {"power", std::move(power)}};
}

}  // namespace plumb::analysis
