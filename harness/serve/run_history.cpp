// SPDX-License-Identifier: Apache-2.0
#include "harness/serve/run_history.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <span>
#include <utility>

#include "harness/analysis/report/run_report.hpp"
#include "harness/session/stored/run_analysis.hpp"

namespace plumb::serve {
namespace {

/// Finds the newest run that is tagged as the baseline of its suite, or else as that of all suites.
/// The runs must be comparable.
const results::RunRecord* tagged_baseline(std::span<const results::RunRecord* const> newest_first) {
  for (const bool for_suite : {true, false}) {
    for (const results::RunRecord* run : newest_first) {
      if (run->has_tag(for_suite ? "baseline/" + run->header.suite : "baseline")) {
        return run;
      }
    }
  }
  return nullptr;
}

/// Makes the states of times inconclusive. What is broken stays so.
void withhold_states(std::vector<analysis::ModelRegression>& regressions) {
  for (analysis::ModelRegression& each : regressions) {
    if (each.state != analysis::RegressionState::kBroken &&
        each.state != analysis::RegressionState::kNoBaseline) {
      each.state = analysis::RegressionState::kInconclusive;
    }
  }
}

analysis::ComparableRun comparable(const reporting::RunMetrics& run) {
  return {run.models, run.deviation};
}

}  // namespace

void ControlHistory::read(const store::Store& store, std::span<const results::RunRecord> runs) {
  std::vector<results::RunRecord> unknown;
  std::map<results::RunId, std::vector<analysis::HostReading>> kept;
  for (const results::RunRecord& run : runs) {
    if (run.state != results::RunState::kFinished) {
      continue;
    }
    const auto found = readings_.find(run.header.id);
    if (found == readings_.end()) {
      unknown.push_back(run);
    }
    kept[run.header.id] =
        found == readings_.end() ? std::vector<analysis::HostReading>{} : found->second;
  }
  for (analysis::HostReading& reading : session::read_host_readings(store, unknown)) {
    kept[reading.run].push_back(std::move(reading));
  }
  readings_ = std::move(kept);
  newest_first_.clear();
  for (const results::RunRecord& run : runs) {
    if (const auto found = readings_.find(run.header.id); found != readings_.end()) {
      newest_first_.insert(newest_first_.end(), found->second.begin(), found->second.end());
    }
  }
  classes_ = analysis::compute_class_controls(newest_first_);
}

std::string ControlHistory::drift(const results::RunId& run) const {
  for (const analysis::HostReading& reading : readings_.at(run)) {
    if (std::string why = analysis::find_class_drift(reading, classes_); !why.empty()) {
      return why;
    }
  }
  return {};
}

std::vector<reporting::HostMetrics> ControlHistory::hosts(
    std::span<const results::RunRecord> runs) const {
  std::map<results::RunId, const results::RunRecord*> by_id;
  for (const results::RunRecord& run : runs) {
    by_id[run.header.id] = &run;
  }
  std::vector<reporting::HostMetrics> hosts;
  for (analysis::HostHealth& health : analysis::compute_host_health(newest_first_, classes_)) {
    const results::RunHeader& run = by_id.at(health.newest.run)->header;
    hosts.push_back(
        {std::move(health), reporting::device_name(run.environment), run.suite, run.stack});
  }
  return hosts;
}

std::shared_ptr<const reporting::RunMetrics> RunHistory::analysed(const session::Archive& archive,
                                                                  const results::RunId& run) {
  const auto [place, added] = analysed_.try_emplace(run);
  Entry& entry = place->second;
  entry.used = true;
  if (!added) {
    return entry.metrics;
  }
  try {
    analysis::RunReport report;
    const results::RunRecord record = archive.store.find_run(run);
    try {
      report = session::analyze_run(archive, record, {});
      entry.readable = true;
    } catch (const std::exception& error) {
      spdlog::warn("run {} has row counts only: {}", run, error.what());
      report = {};
      report.run = record;
      report.rows = archive.store.measurements(run);
    }
    entry.metrics = std::make_shared<const reporting::RunMetrics>(
        reporting::run_metrics(std::move(report), slowest_layers_));
  } catch (...) {
    analysed_.erase(place);  // The store is at fault, not the run: try again the next time.
    throw;
  }
  return entry.metrics;
}

void RunHistory::judge(const session::Archive& archive,
                       std::span<const results::RunRecord* const> newest_first,
                       reporting::SuiteMetrics& suite) {
  const results::RunRecord& newest = *newest_first.front();
  std::vector<const results::RunRecord*> alike;
  for (const results::RunRecord* run : newest_first) {
    const bool drifted = run != &newest && !controls_.drift(run->header.id).empty();
    if (!drifted && analysis::are_comparable(run->header.environment, newest.header.environment)) {
      alike.push_back(run);
    }
  }
  std::optional<analysis::ComparableRun> baseline;
  std::shared_ptr<const reporting::RunMetrics> kept;
  if (const results::RunRecord* const tagged = tagged_baseline(alike); tagged != nullptr) {
    alike.erase(std::find(alike.begin(), alike.end(), tagged), alike.end());
    kept = analysed(archive, tagged->header.id);
    baseline = comparable(*kept);
  }
  if (alike.empty()) {
    return;  // The newest run is the baseline: there is nothing to judge it by.
  }
  // After a baseline, the newest two runs confirm a regression (find_regressions()).
  alike.resize(std::min(alike.size(), baseline ? std::size_t{2} : kRunsLookedAt));
  std::vector<std::shared_ptr<const reporting::RunMetrics>> runs;
  std::vector<analysis::ComparableRun> compared;
  for (const results::RunRecord* run : alike) {
    runs.push_back(analysed(archive, run->header.id));
    compared.push_back(comparable(*runs.back()));
  }
  suite.regressions = analysis::find_regressions(compared, baseline);
  if (!suite.drift.empty()) {
    withhold_states(suite.regressions);
  }
  std::erase_if(suite.regressions, [&](const analysis::ModelRegression& each) {
    const std::string subject = analysis::subject_of(each.instance);
    return results::find_exclusion(suite.newest->exclusions,
                                   {subject, subject + " " + each.mode}) != nullptr;
  });
}

std::vector<reporting::SuiteMetrics> RunHistory::suites(const session::Archive& archive,
                                                        std::span<const results::RunRecord> runs) {
  for (auto& [run, entry] : analysed_) {
    entry.used = false;
  }
  controls_.read(archive.store, runs);
  hosts_ = controls_.hosts(runs);
  std::map<analysis::RunSeries, std::vector<const results::RunRecord*>> series;
  for (const results::RunRecord& run : runs) {
    if (analysis::is_point_of_history(run.header)) {
      series[analysis::run_series_of(run.header)].push_back(&run);
    }
  }
  std::vector<reporting::SuiteMetrics> suites;
  suites.reserve(series.size());
  for (auto& [name, newest_first] : series) {
    reporting::SuiteMetrics& suite = suites.emplace_back();
    suite.series = name;
    suite.device = reporting::device_name(newest_first.front()->header.environment);
    if (newest_first.front()->state != results::RunState::kFinished) {
      suite.unfinished = newest_first.front()->header.started;
    }
    std::erase_if(newest_first, [](const results::RunRecord* run) {
      return run->state != results::RunState::kFinished;
    });
    if (newest_first.empty()) {
      continue;
    }
    suite.newest = analysed(archive, newest_first.front()->header.id);
    suite.drift = controls_.drift(newest_first.front()->header.id);
    if (newest_first.size() > 1) {
      suite.environment_changed = !analysis::environment_drift(newest_first[1]->header.environment,
                                                               newest_first[0]->header.environment)
                                       .empty();
    }
    judge(archive, newest_first, suite);
  }
  std::erase_if(analysed_, [](const auto& entry) { return !entry.second.used; });
  return suites;
}

std::size_t RunHistory::unreadable() const {
  return static_cast<std::size_t>(
      std::count_if(analysed_.begin(), analysed_.end(), [](const auto& entry) {
        return !entry.second.readable;
      }));
}

reporting::Dashboard make_dashboard(const session::Archive& archive,
                                    Timestamp now,
                                    std::optional<Seconds> max_age) {
  std::vector<results::RunRecord> newest_first = archive.store.runs();
  std::erase_if(newest_first, [&](const results::RunRecord& run) {
    return max_age && Seconds(now - run.header.started) > *max_age;
  });
  reporting::Dashboard dashboard;
  dashboard.now = now;
  RunHistory history(0);
  const std::span<const results::RunRecord> runs(newest_first);
  for (std::size_t i = runs.size(); i-- > 0;) {
    if (runs[i].state != results::RunState::kFinished) {
      continue;
    }
    // This run and older ones: it is judged by what was known when it finished.
    std::vector<reporting::SuiteMetrics> suites = history.suites(archive, runs.subspan(i));
    const auto own =
        std::find_if(suites.begin(), suites.end(), [&](const reporting::SuiteMetrics& suite) {
          return suite.newest && suite.newest->run.header.id == runs[i].header.id;
        });
    if (own != suites.end()) {
      dashboard.points.push_back(*own);
    }
    dashboard.present = std::move(suites);
  }
  return dashboard;
}

}  // namespace plumb::serve
