// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/stored_boots.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "harness/analysis/compare/model_comparison.hpp"
#include "harness/analysis/compare/rounds/boot_comparison.hpp"
#include "harness/base/error.hpp"
#include "harness/results/paired_round.hpp"
#include "harness/results/series/series_name.hpp"
#include "harness/session/stored/named_runs.hpp"
#include "harness/session/stored/run_analysis.hpp"
#include "harness/session/stored/stored_comparison.hpp"
#include "harness/session/stored/stored_noise.hpp"

namespace plumb::session {
namespace {

/// One side of a comparison: its runs, the usable ones, and why others were left out.
struct BootSide {
  std::string name;
  std::vector<results::RunRecord> records;
  std::vector<analysis::BootRun> runs;
  std::string left_out;  ///< "; RUN: why" for each
};

/// Reads the times that a run measured itself.
void read_times(const Archive& archive, const results::RunRecord& record, analysis::BootRun& run) {
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
  for (const analysis::ModelReport& model : report.models) {
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

BootSide read_side(const Archive& archive, const std::string& name) {
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
    analysis::BootRun run;
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

analysis::RunComparisonReport compare_stored_boots(const Archive& archive,
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
  analysis::RunComparisonReport report;
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
  report.boots = analysis::ComparedBoots{.control = Seconds(boots.control),
                                         .baseline_name = baseline,
                                         .candidate_name = candidate,
                                         .baseline_left_out = before.left_out,
                                         .candidate_left_out = after.left_out,
                                         .baseline = std::move(boots.baseline),
                                         .candidate = std::move(boots.candidate)};
  return report;
}

}  // namespace plumb::session
