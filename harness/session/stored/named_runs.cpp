// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/named_runs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "harness/analysis/compare/model_comparison.hpp"
#include "harness/analysis/compare/rounds/boot_comparison.hpp"
#include "harness/analysis/report/reports.hpp"
#include "harness/base/error.hpp"
#include "harness/results/paired_round.hpp"
#include "harness/results/series/series_name.hpp"
#include "harness/session/stored/enabling_command.hpp"
#include "harness/session/stored/run_analysis.hpp"
#include "harness/session/stored/stored_comparison.hpp"
#include "harness/session/stored/stored_records.hpp"
#include "harness/session/work/suite_models.hpp"

namespace plumb::session {
namespace {

constexpr std::string_view kAllBelow = "/*";

}  // namespace

bool names_several_runs(const std::string& name) {
  return name.find(',') != std::string::npos || name.ends_with(kAllBelow);
}

std::vector<results::RunRecord> find_named_runs(const store::Store& store,
                                                const std::string& name) {
  std::vector<results::RunRecord> found;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find(',', begin), name.size());
    const std::string one = name.substr(begin, end - begin);
    begin = end + 1;
    if (!one.ends_with(kAllBelow)) {
      found.push_back(store.find_run(one));
      continue;
    }
    const std::string prefix = one.substr(0, one.size() - 1);
    const std::size_t before = found.size();
    for (const results::RunRecord& run : store.runs()) {
      if (std::any_of(run.tags.begin(), run.tags.end(), [&](const std::string& tag) {
            return tag.starts_with(prefix);
          })) {
        found.push_back(store.find_run(run.header.id));
      }
    }
    if (found.size() == before) {
      throw Error(Error::Kind::kUser,
                  fmt::format("no run has a tag that begins with '{}'", prefix));
    }
  }
  std::set<results::RunId> seen;
  std::erase_if(found,
                [&](const results::RunRecord& run) { return !seen.insert(run.header.id).second; });
  return found;
}

namespace {

/// One side of a comparison: its runs, the usable ones, and why others were left out.
struct BootSide {
  std::string name;
  std::vector<results::RunRecord> records;
  std::vector<analysis::BootComparison::Run> runs;
  std::string left_out;  ///< "; RUN: why" for each
};

/// Reads the times that a run measured itself.
void read_times(const SessionContext::Archive& archive,
                const results::RunRecord& record,
                analysis::BootComparison::Run& run) {
  analysis::RunReport report = analyze_run(archive, record, {});
  std::erase_if(report.rows, [](const results::StoredMeasurement& row) { return row.reused; });
  const analysis::ResultSet results(report.rows, report.calibration);
  std::set<model::LayerKey> keys;
  for (const results::StoredMeasurement& row : results.rows()) {
    keys.insert(row.measurement.key);
  }
  for (const model::LayerKey& key : keys) {
    const std::string series = results::layer_series(key.text);
    const auto time = analysis::served_time(results, key);
    if (time && time->time.median > Seconds(0.0)) {
      run.times[series] = time->time.median.count();
    } else if (const auto failure = results.failure(key);
               failure && failure->kind != results::Outcome::Kind::kSkipped) {
      run.failures[series] = fmt::format("{}: {}", to_text(failure->kind), failure->reason);
    }
  }
  for (const analysis::RunReport::Model& model : report.models) {
    const std::string subject = analysis::subject_of(model.bounds.instance);
    for (const analysis::ExecutionTime& execution : model.bounds.executions) {
      const std::string series =
          analysis::end_to_end_series(subject, execution.mode, execution.scenario);
      if (execution.samples > 0 && execution.median > Seconds(0.0)) {
        run.times[series] = execution.median.count();
      } else if (execution.outcome.kind != results::Outcome::Kind::kSkipped) {
        run.failures[series] =
            fmt::format("{}: {}", to_text(execution.outcome.kind), execution.outcome.reason);
      }
    }
  }
}

BootSide read_side(const SessionContext::Archive& archive, const std::string& name) {
  const store::Store& store = archive.store;
  BootSide side{name, find_named_runs(store, name), {}, {}};
  for (const results::RunRecord& record : side.records) {
    const auto leave_out = [&](const std::string& why) {
      side.left_out += fmt::format("; {}: {}", record.header.id, why);
    };
    if (record.state != results::RunState::kFinished) {
      leave_out("not finished");
      continue;
    }
    analysis::BootComparison::Run run;
    run.run = record.header.id;
    std::set<std::string> boots;
    std::set<std::string> hosts;
    for (const results::DerivedRecord& host : store.derived(run.run, results::kHostRecord)) {
      hosts.insert(host.subject);
    }
    // The control is a geometric mean, since times are compared by their ratio to it.
    double logs = 0.0;
    const std::vector<results::DerivedRecord> controls =
        store.derived(run.run, results::kControlsRecord);
    for (const results::DerivedRecord& each : controls) {
      boots.insert(each.subject);
      const results::Controls own = results::controls_from_json(each.payload);
      if (!own.host.empty()) {
        hosts.insert(own.host);
      }
      logs += std::log(own.product.count());
    }
    if (controls.empty() || !std::isfinite(logs)) {
      leave_out("it did not measure the machine's controls");
    } else if (hosts.size() > 1) {
      leave_out(fmt::format("it was measured on several hosts: {}", fmt::join(hosts, ", ")));
    } else if (boots.size() > 1) {
      leave_out("it was resumed in another boot");
    } else {
      run.boot = *boots.begin();
      run.control = std::exp(logs / static_cast<double>(controls.size()));
      read_times(archive, record, run);
      side.runs.push_back(std::move(run));
    }
  }
  return side;
}

/// Checks that the runs of one side are of one environment and suite. Throws Error{kRefused}.
void check_one_side(const BootSide& side) {
  for (const results::RunRecord& run : side.records) {
    check_alike(side.records.front(), run, {});
  }
}

}  // namespace

analysis::ComparisonReport compare_stored_boots(const SessionContext::Archive& archive,
                                                const std::string& baseline,
                                                const std::string& candidate,
                                                std::span<const std::string> varied,
                                                const analysis::ComparisonLimits& limits) {
  const BootSide before = read_side(archive, baseline);
  const BootSide after = read_side(archive, candidate);
  check_one_side(before);
  check_one_side(after);
  check_alike(before.records.front(), after.records.front(), varied);
  const std::size_t boots_before = analysis::group_by_boot(before.runs).size();
  const std::size_t boots_after = analysis::group_by_boot(after.runs).size();
  if (std::min(boots_before, boots_after) < analysis::kMinBoots) {
    throw Error(Error::Kind::kTryAgain,
                fmt::format("not enough evidence: {} boots of '{}' and {} of '{}', but at least {} "
                            "are needed for each: reboot, and run the suite{}{}",
                            boots_before,
                            baseline,
                            boots_after,
                            candidate,
                            analysis::kMinBoots,
                            before.left_out,
                            after.left_out));
  }
  analysis::ComparisonReport report;
  report.baseline = before.records.front();
  report.candidate = after.records.front();
  report.varied.assign(varied.begin(), varied.end());
  report.limits = limits;
  report.environment_diff = analysis::environment_diff(report.baseline.header.environment,
                                                       report.candidate.header.environment);
  const analysis::CalibratedFloors floors = calibrated_floors(
      archive.store, report.baseline.header.environment, report.candidate.header.environment);
  report.calibrations = floors.runs;
  analysis::BootComparison boots = analysis::compare_boots(before.runs, after.runs, floors, limits);
  report.comparison.verdict = boots.verdict;
  report.comparison.metrics = std::move(boots.metrics);
  exclude_cases(archive.store, report);
  report.boots = analysis::ComparisonReport::Boots{.control = Seconds(boots.control),
                                                   .baseline_name = baseline,
                                                   .candidate_name = candidate,
                                                   .baseline_left_out = before.left_out,
                                                   .candidate_left_out = after.left_out,
                                                   .baseline = std::move(boots.baseline),
                                                   .candidate = std::move(boots.candidate)};
  return report;
}

namespace {

std::vector<results::RunRecord> named_runs(const store::Store& store,
                                           std::span<const std::string> names) {
  std::vector<results::RunRecord> found;
  std::set<results::RunId> seen;
  for (const std::string& name : names) {
    std::vector<results::RunRecord> runs =
        name == kAllRuns ? store.runs() : find_named_runs(store, name);
    if (name == kAllRuns) {
      std::erase_if(runs, [](const results::RunRecord& run) {
        return analysis::run_kind(run.header) != analysis::RunReport::Kind::kRun;
      });
      std::reverse(runs.begin(), runs.end());  // oldest first
    }
    for (results::RunRecord& run : runs) {
      if (seen.insert(run.header.id).second) {
        found.push_back(std::move(run));
      }
    }
  }
  return found;
}

std::vector<analysis::ModelResults> analyse_again(const SessionContext::Archive& archive,
                                                  const results::RunRecord& run) {
  spdlog::info("run {} keeps no results of its models: its rows are analysed", run.header.id);
  return summarize_models(analyze_run(archive, run, {}));
}

/// Returns the models of a run's suite, without results.
std::vector<analysis::ModelResults> models_of_suite(const results::RunRecord& run) {
  std::vector<analysis::ModelResults> models;
  for (const auto& [instance, scenarios] : scenarios_of_run(run)) {
    models.emplace_back().instance = instance;
  }
  return models;
}

analysis::Matrix::Run read_run(const SessionContext::Archive& archive, results::RunRecord record) {
  analysis::Matrix::Run run;
  run.state = record.state;
  const std::vector<results::DerivedRecord> kept =
      archive.store.derived(record.header.id, results::kModelResultsRecord);
  const bool complete = !record.header.resolved_suite.empty() || !kept.empty();
  const results::RunRecord whole =
      complete ? std::move(record) : archive.store.find_run(record.header.id);
  try {
    if (!analysis::is_point_of_history(whole.header)) {
      throw Error(Error::Kind::kUser, "it " + analysis::why_no_history(whole.header));
    }
    run.models = kept.empty() ? analyse_again(archive, whole)
                              : analysis::model_results_from_json(kept.back().payload);
  } catch (const Error& error) {
    if (error.kind() == Error::Kind::kInternal) {
      throw;
    }
    run.problem = "run " + whole.header.id + ": " + error.what();
    run.models = models_of_suite(whole);
  }
  run.header = whole.header;
  run.header.resolved_suite.clear();
  return run;
}

}  // namespace

std::vector<analysis::Matrix::Run> read_matrix_runs(const SessionContext::Archive& archive,
                                                    std::span<const std::string> names) {
  std::vector<analysis::Matrix::Run> runs;
  for (results::RunRecord& record : named_runs(archive.store, names)) {
    runs.push_back(read_run(archive, std::move(record)));
  }
  if (runs.empty()) {
    throw Error(Error::Kind::kUser, "the store has no run of a suite: 'plumb run SUITE' makes one");
  }
  return runs;
}

std::vector<analysis::MatrixReport::MissingCommand> commands_for_missing(
    const store::Store& store,
    std::span<const analysis::Matrix::Run> runs,
    const analysis::Matrix& matrix) {
  struct Wanted {
    std::size_t run = 0;
    analysis::ModelInstance instance;
    std::string mode;
    auto operator<=>(const Wanted&) const = default;
  };
  std::map<Wanted, std::size_t> wanted;
  for (const analysis::Matrix::Row& row : matrix.rows) {
    for (const analysis::Matrix::Cell& cell : row.cells) {
      const analysis::Matrix::Value::Missing& missing = cell.missing;
      if (!cell.value && !missing.mode.empty() && missing.run && missing.instance) {
        ++wanted[{*missing.run, *missing.instance, missing.mode}];
      }
    }
  }
  std::map<std::size_t, results::RunHeader> headers;
  std::map<std::string, std::size_t> commands;
  for (const auto& [each, cells] : wanted) {
    const results::RunId& id = runs[each.run].header.id;
    auto header = headers.find(each.run);
    if (header == headers.end()) {
      header = headers.emplace(each.run, store.find_run(id).header).first;
    }
    commands[enabling_command(header->second, each.instance, each.mode)] += cells;
  }
  std::vector<analysis::MatrixReport::MissingCommand> list;
  for (const auto& [command, cells] : commands) {
    list.push_back({command, cells});
  }
  std::stable_sort(list.begin(), list.end(), [](const auto& one, const auto& other) {
    return one.cells > other.cells;
  });
  return list;
}

}  // namespace plumb::session
