// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/stored_comparison.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/result_set.hpp"
#include "harness/analysis/compare/model_comparison.hpp"
#include "harness/analysis/compare/rounds/round_comparison.hpp"
#include "harness/analysis/history/run_series.hpp"
#include "harness/analysis/profile/explained_metrics.hpp"
#include "harness/analysis/report/change_json.hpp"
#include "harness/analysis/report/reports.hpp"
#include "harness/analysis/report/run_json.hpp"
#include "harness/base/error.hpp"
#include "harness/results/series/series_name.hpp"
#include "harness/session/stored/enabling_command.hpp"
#include "harness/session/stored/run_analysis.hpp"
#include "harness/session/stored/stored_records.hpp"
#include "harness/session/work/suite_models.hpp"

namespace plumb::session {
namespace {

constexpr std::string_view kBetween = "..";

/// Returns a description of where each key occurs in the models of both runs.
std::map<std::string, std::string> places_in(const analysis::RunReport& left,
                                             const analysis::RunReport& right) {
  analysis::ComparisonReport::Places places;
  std::set<analysis::ModelInstance> seen;
  for (const analysis::RunReport* report : {&left, &right}) {
    for (const analysis::RunReport::Model& model : report->models) {
      if (!seen.insert(model.bounds.instance).second) {
        continue;
      }
      places.add_layers(model.graph, model.bounds.instance);
      for (const analysis::PartitionStep& step : model.bounds.cover) {
        if (!step.rewrite.empty()) {
          places.add(step.key, model.graph.layers[step.layers.front()], model.bounds.instance);
        }
      }
    }
  }
  return places.texts();
}

std::vector<Seconds> layer_samples(const analysis::ResultSet& results, const model::LayerKey& key) {
  std::vector<Seconds> samples;
  if (const auto time = analysis::served_time(results, key)) {
    for (const results::StoredMeasurement* const row :
         analysis::deciding_rows(results.rows_of(key), time->variant, results::CacheMode::kNone)) {
      const std::vector<Seconds>& of_process = row->measurement.samples;
      samples.insert(samples.end(), of_process.begin(), of_process.end());
    }
  }
  return samples;
}

std::vector<Seconds> execution_samples(
    const std::map<std::string, std::vector<results::Execution>>& executions,
    const analysis::MetricComparison& metric) {
  std::vector<Seconds> samples;
  const auto found = executions.find(metric.model);
  if (found != executions.end()) {
    for (const analysis::ReplicatedExecution& execution :
         analysis::replicated_executions(found->second)) {
      const results::Execution& told = *execution.told;
      if (metric.series ==
          analysis::end_to_end_series(metric.model, told.mode, told.scenario, told.turn)) {
        for (const results::Execution* const process : execution.processes) {
          samples.insert(samples.end(), process->row.samples.begin(), process->row.samples.end());
        }
      }
    }
  }
  return samples;
}

/// Sources of the raw times of one run.
struct Measured {
  const analysis::ResultSet& results;
  const analysis::ModelExecutions& executions;
};

/// Collects the raw times of the metrics that changed, if both sides have any.
std::vector<analysis::ComparisonReport::Samples> samples_of_changes(
    const analysis::ComparisonReport& report, const Measured& left, const Measured& right) {
  std::vector<analysis::ComparisonReport::Samples> all;
  for (const analysis::MetricComparison& metric : report.comparison.metrics) {
    const bool changed = metric.verdict == analysis::ComparisonVerdict::kRegressed ||
                         metric.verdict == analysis::ComparisonVerdict::kImproved;
    if (!changed || !metric.ratio) {
      continue;
    }
    analysis::ComparisonReport::Samples samples{metric.series, {}, {}};
    if (metric.kind == analysis::MetricKind::kEndToEnd ||
        metric.kind == analysis::MetricKind::kAlternation) {
      samples.baseline = execution_samples(left.executions, metric);
      samples.candidate = execution_samples(right.executions, metric);
    } else if (metric.kind == analysis::MetricKind::kLayer) {
      const model::LayerKey key{metric.series.substr(metric.series.find('/') + 1)};
      samples.baseline = layer_samples(left.results, key);
      samples.candidate = layer_samples(right.results, key);
    }
    if (!samples.baseline.empty() && !samples.candidate.empty()) {
      all.push_back(std::move(samples));
    }
  }
  return all;
}

/// Explains what changed by the profiles that both runs keep. Where they name no function, says
/// what would, if anything does.
void explain_changes(const store::Store& store,
                     const analysis::RunReport& candidate,
                     analysis::ComparisonReport& report) {
  std::map<std::string, const model::Graph*> graphs;
  for (const analysis::RunReport::Model& model : candidate.models) {
    graphs[analysis::subject_of(model.bounds.instance)] = &model.graph;
  }
  const analysis::ProfilingChoice choice =
      analysis::choose_comparison_profiling(report.comparison, graphs);
  if (choice.metrics.empty()) {
    return;
  }
  report.functions = analysis::explain_metrics(choice.metrics,
                                               store.profiles(report.baseline.header.id),
                                               store.profiles(report.candidate.header.id),
                                               graphs);
  const bool explained =
      std::any_of(report.functions.begin(), report.functions.end(), [](const auto& finding) {
        return !finding.control && finding.problem.empty();
      });
  const results::RunHeader& before = report.baseline.header;
  const results::RunHeader& after = report.candidate.header;
  if (!explained && (analysis::has_model(choice) || before.stack != after.stack)) {
    report.profile_with = profiling_command(before, after, report.varied);
  }
}

/// Reads both runs' results. If they are of one machine, a host that was slow all through one run
/// shows against the other.
std::pair<RunResults, RunResults> read_both(const store::Store& store,
                                            const results::RunRecord& baseline,
                                            const results::RunRecord& candidate) {
  RunResults left = read_results(store, baseline.header.id);
  RunResults right = read_results(store, candidate.header.id);
  const auto left_pace = analysis::fastest_pace(left.rows, left.executions);
  const auto right_pace = analysis::fastest_pace(right.rows, right.executions);
  if (left_pace && right_pace &&
      analysis::system_id(baseline.header.environment) ==
          analysis::system_id(candidate.header.environment)) {
    const double fastest = std::min(*left_pace, *right_pace);
    analysis::mark_slow_host(fastest, left.rows, left.executions);
    analysis::mark_slow_host(fastest, right.rows, right.executions);
  }
  return {std::move(left), std::move(right)};
}

void keep_processes_after(std::int64_t last, RunResults& results) {
  std::erase_if(results.rows, [&](const results::StoredMeasurement& row) {
    return row.measurement.process <= last || row.measurement.purpose != results::Purpose::kConfirm;
  });
  for (auto& [subject, executions] : results.executions) {
    std::erase_if(executions,
                  [&](const results::Execution& each) { return each.row.process <= last; });
  }
}

/// Evidence that a comparison uses in addition to the rows of both runs.
enum class Judged {
  kAlone,               ///< nothing: to find suspects
  kWithAllThatIsKnown,  ///< what was confirmed, and that the same software ran
};

/// Returns the limits for two runs. Between runs of the same software, a difference within the
/// margins of runs comes from the machine.
analysis::ComparisonLimits limits_between(const results::RunRecord& baseline,
                                          const results::RunRecord& candidate,
                                          analysis::ComparisonLimits limits) {
  if (analysis::is_same_software(baseline.header.environment, candidate.header.environment)) {
    limits.end_to_end_floor = std::max(limits.end_to_end_floor, limits.run_margin);
    limits.layer_floor = std::max(limits.layer_floor, limits.run_layer_margin);
  }
  return limits;
}

/// Returns why times of two runs of equal machines say nothing of the software: a control differs
/// between their hosts. Empty: it does not, or the machines differ on purpose.
std::string find_machine_change(const store::Store& store,
                                const results::RunRecord& baseline,
                                const results::RunRecord& candidate) {
  if (analysis::control_class_of(baseline.header) != analysis::control_class_of(candidate.header)) {
    return {};
  }
  const analysis::HostControls after = read_host_controls(store, candidate.header.id);
  for (const auto& [left, before] : read_host_controls(store, baseline.header.id)) {
    for (const auto& [right, controls] : after) {
      const auto difference = before && controls ? analysis::find_control_difference(
                                                       *before, *controls, analysis::kControlLimit)
                                                 : std::nullopt;
      if (difference) {
        return "the machine was not equally fast in both runs: " + *difference +
               (left == right ? "" : fmt::format(" ({} and {})", left, right));
      }
    }
  }
  return {};
}

analysis::ComparisonReport compare(const SessionContext::Archive& archive,
                                   const std::string& baseline,
                                   const std::string& candidate,
                                   std::span<const std::string> varied,
                                   const analysis::ComparisonLimits& limits,
                                   const std::optional<Timestamp>& until,
                                   Judged judged) {
  const store::Store& store = archive.store;
  analysis::ComparisonReport report;
  report.baseline = store.find_run(baseline);
  report.candidate = store.find_run(candidate);
  report.varied.assign(varied.begin(), varied.end());
  report.limits = limits;
  report.environment_diff = analysis::environment_diff(report.baseline.header.environment,
                                                       report.candidate.header.environment);
  check_alike(report.baseline, report.candidate, varied);
  const auto [left_run, right_run] = read_both(store, report.baseline, report.candidate);
  const analysis::RunReport left = analyze_run(archive, report.baseline, {}, left_run);
  const analysis::RunReport right = analyze_run(archive, report.candidate, {}, right_run);
  const analysis::ResultSet left_results(left.rows, left.calibration);
  const analysis::ResultSet right_results(right.rows, right.calibration);
  const std::vector<analysis::ModelBounds> left_bounds = analysis::all_bounds(left);
  const std::vector<analysis::ModelBounds> right_bounds = analysis::all_bounds(right);
  analysis::CalibratedFloors floors = calibrated_floors(
      store, report.baseline.header.environment, report.candidate.header.environment, until);
  floors.learned = learned_noise(store, report.baseline, report.candidate, until);
  report.calibrations = floors.runs;
  const analysis::RunComparison::Side left_side{left_results, left_bounds, left_run.executions};
  const analysis::ComparisonLimits effective =
      judged == Judged::kAlone ? limits : limits_between(report.baseline, report.candidate, limits);
  report.comparison = analysis::compare_runs(
      left_side, {right_results, right_bounds, right_run.executions}, floors, effective);
  // What is withheld is a suspect, so that a gate measures it again in pairs.
  const std::string machine_change = find_machine_change(store, report.baseline, report.candidate);
  if (!machine_change.empty()) {
    analysis::withhold_times(machine_change, report.comparison);
  }
  if (judged == Judged::kAlone) {
    exclude_cases(store, report);
    return report;
  }
  report.same_software = analysis::is_same_software(report.baseline.header.environment,
                                                    report.candidate.header.environment);
  const auto confirmation =
      read_confirmation(store, report.baseline.header.id, report.candidate.header.id);
  if (confirmation && confirmation->pairs) {
    analysis::conclude_pairs(
        confirmation->suspects, *confirmation->pairs, limits, report.comparison);
  } else if (confirmation) {
    RunResults fresh = right_run;
    keep_processes_after(confirmation->after_process, fresh);
    const analysis::RunReport again = analyze_run(archive, report.candidate, {}, fresh);
    const analysis::ResultSet again_results(again.rows, again.calibration);
    const std::vector<analysis::ModelBounds> again_bounds = analysis::all_bounds(again);
    analysis::conclude_confirmation(
        confirmation->suspects,
        analysis::compare_runs(
            left_side, {again_results, again_bounds, fresh.executions}, floors, effective),
        report.comparison);
  }
  exclude_cases(store, report);
  explain_changes(store, right, report);
  report.places = places_in(left, right);
  report.samples = samples_of_changes(
      report, {left_results, left_run.executions}, {right_results, right_run.executions});
  return report;
}

}  // namespace

void exclude_cases(const store::Store& store, analysis::ComparisonReport& report) {
  const results::RunHeader& candidate = report.candidate.header;
  report.exclusions = analysis::apply_exclusions(read_exclusions(store, candidate.id),
                                                 analysis::day_of(candidate),
                                                 report.limits,
                                                 report.comparison);
}

analysis::PairedConfirmation::Suspects stored_suspects(
    const SessionContext::Archive& archive,
    const std::string& baseline,
    const std::string& candidate,
    std::span<const std::string> varied,
    analysis::PairedConfirmation::Suspects::Rule rule) {
  // The rows alone: what these runs confirmed earlier must not raise a suspicion.
  const analysis::ComparisonReport report =
      compare(archive, baseline, candidate, varied, {}, std::nullopt, Judged::kAlone);
  const RunResults results = read_results(archive.store, report.candidate.header.id);
  const analysis::RunReport analysis = analyze_run(archive, report.candidate, {}, results);
  const analysis::ResultSet set(analysis.rows, analysis.calibration);
  const std::vector<analysis::ModelBounds> bounds = analysis::all_bounds(analysis);
  return analysis::find_suspects(report.comparison, {set, bounds, results.executions}, rule);
}

void check_alike(const results::RunRecord& baseline,
                 const results::RunRecord& candidate,
                 std::span<const std::string> varied) {
  const results::RunHeader& left = baseline.header;
  const results::RunHeader& right = candidate.header;
  std::string unlike;
  for (const analysis::EnvironmentDifference& difference :
       analysis::environment_diff(left.environment, right.environment)) {
    if (difference.identity && !analysis::is_varied(difference.name, varied) &&
        !analysis::names_device(difference.name)) {
      unlike += fmt::format(
          " {}: '{}' and '{}';", difference.name, difference.baseline, difference.candidate);
    }
  }
  if (!unlike.empty()) {
    throw Error(Error::Kind::kRefused,
                "the runs were measured in different environments:" + unlike +
                    " name what differs on purpose: --vary stack, --vary driver, --vary FACT");
  }
  if (!analysis::is_varied("suite", varied) && !measure_the_same(left, right)) {
    throw Error(Error::Kind::kRefused,
                fmt::format("the runs are of different suites, '{}' ({:.12}) and '{}' ({:.12}): "
                            "--vary suite compares what both have",
                            left.suite,
                            left.suite_hash,
                            right.suite,
                            right.suite_hash));
  }
}

analysis::ComparisonReport compare_stored_runs(const SessionContext::Archive& archive,
                                               const std::string& baseline,
                                               const std::string& candidate,
                                               std::span<const std::string> varied,
                                               const analysis::ComparisonLimits& limits,
                                               const std::optional<Timestamp>& until) {
  return compare(archive, baseline, candidate, varied, limits, until, Judged::kWithAllThatIsKnown);
}

void store_comparison(store::Store& store, const analysis::ComparisonReport& report) {
  put_run_record(store,
                 report.candidate.header.id,
                 results::kComparisonRecord,
                 report.baseline.header.id,
                 analysis::document_text(analysis::comparison_document(report)));
}

std::optional<std::pair<std::string, std::string>> compared_runs(const std::string& name) {
  const std::size_t between = name.find(kBetween);
  if (between == std::string::npos) {
    return std::nullopt;
  }
  return std::pair(name.substr(0, between), name.substr(between + kBetween.size()));
}

analysis::ComparisonReport kept_comparison(const SessionContext::Archive& archive,
                                           const std::string& baseline,
                                           const std::string& candidate) {
  const store::Store& store = archive.store;
  const std::string baseline_id = store.find_run(baseline).header.id;
  const std::string candidate_id = store.find_run(candidate).header.id;
  std::optional<results::DerivedRecord> newest;
  for (results::DerivedRecord& record : store.derived(candidate_id, results::kComparisonRecord)) {
    if (record.subject == baseline_id && (!newest || newest->computed <= record.computed)) {
      newest = std::move(record);
    }
  }
  std::vector<std::string> varied;
  analysis::ComparisonLimits limits;
  if (newest) {
    const auto document = nlohmann::json::parse(newest->payload);
    varied = document.at("varied").get<std::vector<std::string>>();
    const auto& kept = document.at("limits");
    kept.at("alpha").get_to(limits.alpha);
    kept.at("false_discovery_rate").get_to(limits.false_discovery_rate);
    kept.at("end_to_end_floor").get_to(limits.end_to_end_floor);
    kept.at("layer_floor").get_to(limits.layer_floor);
  }
  return compare_stored_runs(archive,
                             baseline_id,
                             candidate_id,
                             varied,
                             limits,
                             newest ? std::optional(newest->computed) : std::nullopt);
}

}  // namespace plumb::session
