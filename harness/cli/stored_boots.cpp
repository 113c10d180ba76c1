// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/stored_boots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "harness/analysis/compare/model_comparison.hpp"
#include "harness/analysis/compare/rounds/boot_comparison.hpp"
#include "harness/base/error.hpp"
#include "harness/cli/run_analysis.hpp"
#include "harness/cli/stored_comparison.hpp"
#include "harness/results/paired_round.hpp"
#include "harness/session/stored_noise.hpp"
#include "reporting/content/comparison/metric_rows.hpp"
#include "reporting/document/quantity_text.hpp"

namespace plumb {
namespace {

constexpr std::string_view kAllBelow = "/*";

/// One side of a comparison: its runs, the usable ones, and why others were left out.
struct BootSide {
  std::string name;
  std::vector<RunRecord> records;
  std::vector<BootRun> runs;
  std::string left_out;  ///< "; RUN: why" for each
};

std::vector<RunRecord> runs_named(const Store& store, const std::string& name) {
  std::vector<RunRecord> found;
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
    for (const RunRecord& run : store.runs()) {
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
  std::set<RunId> seen;
  std::erase_if(found, [&](const RunRecord& run) { return !seen.insert(run.header.id).second; });
  return found;
}

/// Reads the times that a run measured itself.
void read_times(const Store& store, const RunRecord& record, BootRun& run) {
  RunReport report = analyze_run(store, record, {});
  std::erase_if(report.rows, [](const StoredMeasurement& row) { return row.reused; });
  const ResultSet results(report.rows, report.calibration);
  std::set<LayerKey> keys;
  for (const StoredMeasurement& row : results.rows()) {
    keys.insert(row.measurement.key);
  }
  for (const LayerKey& key : keys) {
    const std::string series = "layers/" + key.text;
    const auto time = served_time(results, key);
    if (time && time->time.median > Seconds(0.0)) {
      run.times[series] = time->time.median.count();
    } else if (const auto failure = results.failure(key);
               failure && failure->kind != Outcome::Kind::kSkipped) {
      run.failures[series] = fmt::format("{}: {}", to_text(failure->kind), failure->reason);
    }
  }
  for (const ModelReport& model : report.models) {
    const std::string subject = subject_of(model.bounds.instance);
    for (const ExecutionTime& execution : model.bounds.executions) {
      const std::string series = end_to_end_series(subject, execution.mode, execution.scenario);
      if (execution.samples > 0 && execution.median > Seconds(0.0)) {
        run.times[series] = execution.median.count();
      } else if (execution.outcome.kind != Outcome::Kind::kSkipped) {
        run.failures[series] =
            fmt::format("{}: {}", to_text(execution.outcome.kind), execution.outcome.reason);
      }
    }
  }
}

BootSide read_side(const Store& store, const std::string& name) {
  BootSide side{name, runs_named(store, name), {}, {}};
  for (const RunRecord& record : side.records) {
    const auto leave_out = [&](const std::string& why) {
      side.left_out += fmt::format("; {}: {}", record.header.id, why);
    };
    if (record.state != RunState::kFinished) {
      leave_out("not finished");
      continue;
    }
    BootRun run;
    run.run = record.header.id;
    std::set<std::string> boots;
    // The control is a geometric mean, since times are compared by their ratio to it.
    double logs = 0.0;
    const std::vector<DerivedRecord> controls = store.derived(run.run, kControlsRecord);
    for (const DerivedRecord& each : controls) {
      boots.insert(each.subject);
      logs += std::log(controls_from_json(each.payload).product.count());
    }
    if (controls.empty() || !std::isfinite(logs)) {
      leave_out("it did not measure the machine's controls");
    } else if (boots.size() > 1) {
      leave_out("it was resumed in another boot");
    } else {
      run.boot = *boots.begin();
      run.control = std::exp(logs / static_cast<double>(controls.size()));
      read_times(store, record, run);
      side.runs.push_back(std::move(run));
    }
  }
  return side;
}

/// Checks that the runs of one side are of one environment and suite. Throws Error{kRefused}.
void check_one_side(const BootSide& side) {
  for (const RunRecord& run : side.records) {
    check_alike(side.records.front(), run, {});
  }
}

std::string list_of(const std::vector<Boot>& boots) {
  std::string text;
  for (const Boot& boot : boots) {
    text += fmt::format("{}{:.8} ({}, control {})",
                        text.empty() ? "" : ", ",
                        boot.id,
                        fmt::join(boot.runs, " "),
                        time_text(Seconds(boot.control)));
  }
  return text;
}

ComparisonSource source_of(const BootSide& before,
                           const BootSide& after,
                           const BootComparison& boots,
                           std::span<const std::string> varied,
                           const ComparisonLimits& limits) {
  ComparisonSource source;
  source.name =
      fmt::format("{} boots against {} boots", boots.candidate.size(), boots.baseline.size());
  source.method = fmt::format(
      "What cannot be switched within one boot is compared over boots: a boot is the unit of "
      "replication. Each time is divided by the fixed product of the harness's own code that its "
      "run measured at its beginning and end, and scaled to {}; sides are compared by trimmed "
      "means "
      "with Yuen's errors and Welch's degrees of freedom. End to end is tested at {:.2g} %; among "
      "layers {:.2g} % of what is called changed may be false (Benjamini and Hochberg).",
      time_text(Seconds(boots.control)),
      100.0 * limits.alpha,
      100.0 * limits.false_discovery_rate);
  source.command = "plumb compare " + shell_quoted(before.name) + " " + shell_quoted(after.name);
  for (const std::string& name : varied) {
    source.command += " --vary " + shell_quoted(name);
  }
  source.facts = {{"boots", list_of(boots.baseline), list_of(boots.candidate)}};
  if (!before.left_out.empty() || !after.left_out.empty()) {
    const auto text = [](const BootSide& side) {
      return side.left_out.empty() ? std::string("none") : side.left_out.substr(2);
    };
    source.facts.push_back({"left out", text(before), text(after)});
  }
  return source;
}

}  // namespace

bool names_several_runs(const std::string& name) {
  return name.find(',') != std::string::npos || name.ends_with(kAllBelow);
}

RunComparisonReport compare_stored_boots(const Store& store,
                                         const std::string& baseline,
                                         const std::string& candidate,
                                         std::span<const std::string> varied,
                                         const ComparisonLimits& limits) {
  const BootSide before = read_side(store, baseline);
  const BootSide after = read_side(store, candidate);
  check_one_side(before);
  check_one_side(after);
  check_alike(before.records.front(), after.records.front(), varied);
  const std::size_t boots_before = boots_of(before.runs).size();
  const std::size_t boots_after = boots_of(after.runs).size();
  if (std::min(boots_before, boots_after) < kMinBoots) {
    throw Error(
        Error::Kind::kTryAgain,
        fmt::format("not enough evidence: {} boots of '{}' and {} of '{}'; {} a side are the "
                    "least: boot again, and run the suite{}{}",
                    boots_before,
                    baseline,
                    boots_after,
                    candidate,
                    kMinBoots,
                    before.left_out,
                    after.left_out));
  }
  RunComparisonReport report;
  report.baseline = before.records.front();
  report.candidate = after.records.front();
  report.varied.assign(varied.begin(), varied.end());
  report.limits = limits;
  report.environment_diff =
      environment_diff(report.baseline.header.environment, report.candidate.header.environment);
  const CalibratedFloors floors = calibrated_floors(
      store, report.baseline.header.environment, report.candidate.header.environment);
  report.calibrations = floors.runs;
  BootComparison boots = compare_boots(before.runs, after.runs, floors, limits);
  report.source = source_of(before, after, boots, varied, limits);
  report.comparison.verdict = boots.verdict;
  report.comparison.metrics = std::move(boots.metrics);
  report.boots = ComparedBoots{std::move(boots.baseline), std::move(boots.candidate)};
  return report;
}

}  // namespace plumb
