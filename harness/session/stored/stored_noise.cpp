// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/stored_noise.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "harness/analysis/compare/run_times.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/labels/run_labels.hpp"

namespace plumb::session {
namespace {

constexpr std::size_t kMaxSeries = 1'000'000;

/// Returns the environment's id without the mark of pairs, which measure the same thing.
std::string unpaired_id(const results::Environment& environment) {
  return results::without_mark(environment, results::kPairedMark).id();
}

/// Adds the series of one run's calibrations that `floors` does not have yet.
void add_missing(const store::Store& store,
                 const results::RunId& run,
                 const std::optional<Timestamp>& until,
                 analysis::CalibratedFloors& floors) {
  std::map<std::string, analysis::CalibratedFloors::Noise> found;
  for (const results::DerivedRecord& record : store.derived(run, results::kNoiseRecord)) {
    if (until && record.computed > *until) {
      continue;
    }
    const nlohmann::json document = results::parse_json(record.payload);
    for (const nlohmann::json& row : results::JsonObject(document).array("metrics", kMaxSeries)) {
      const results::JsonObject metric(row);
      found[metric.text("series")] = {metric.number("process"), metric.number("floor")};
    }
  }
  const std::size_t before = floors.series.size();
  floors.series.merge(found);
  if (floors.series.size() > before) {
    floors.runs.push_back(run);
  }
}

analysis::CalibratedFloors find_newest(const store::Store& store,
                                       const std::string& environment,
                                       const std::optional<Timestamp>& until) {
  analysis::CalibratedFloors floors;
  for (const results::RunRecord& run : store.runs()) {  // newest first
    if (unpaired_id(run.header.environment) == environment) {
      add_missing(store, run.header.id, until, floors);
    }
  }
  return floors;
}

}  // namespace

analysis::CalibratedFloors calibrated_floors(const store::Store& store,
                                             const results::Environment& baseline,
                                             const results::Environment& candidate,
                                             const std::optional<Timestamp>& until) {
  const std::string left = unpaired_id(baseline);
  const std::string right = unpaired_id(candidate);
  analysis::CalibratedFloors floors = find_newest(store, left, until);
  if (right != left) {
    floors.join(find_newest(store, right, until));
  }
  return floors;
}

analysis::LearnedNoise learned_noise(const store::Store& store,
                                     const results::RunRecord& baseline,
                                     const results::RunRecord& candidate,
                                     const std::optional<Timestamp>& until) {
  constexpr std::size_t kMaxRuns = 20;
  const std::string environment = baseline.header.environment.id();
  std::vector<analysis::RunTimes> times;
  for (const results::RunRecord& run : store.runs()) {  // newest first
    if (run.state != results::RunState::kFinished || run.header.environment.id() != environment ||
        run.header.id == candidate.header.id || (until && run.header.started > *until)) {
      continue;
    }
    const std::vector<results::DerivedRecord> records =
        store.derived(run.header.id, results::kRunTimesRecord);
    if (!records.empty()) {
      times.push_back(analysis::run_times_from_json(records.back().payload));
    }
    if (times.size() == kMaxRuns) {
      break;
    }
  }
  std::reverse(times.begin(), times.end());
  return analysis::LearnedNoise(times);
}

namespace {

/// Joins the records of one run.
analysis::HostControls join_records(std::span<const results::DerivedRecord> hosts,
                                    std::span<const results::DerivedRecord> controls) {
  analysis::HostControls joined;
  std::map<std::string, std::string> by_boot;  // of records that do not name their host
  for (const results::DerivedRecord& host : hosts) {
    joined[host.subject];
    // What was imported may be any JSON.
    const auto document = nlohmann::json::parse(host.payload, nullptr, false);
    if (document.is_object() && document.contains("boot") && document["boot"].is_string()) {
      by_boot[document["boot"].get<std::string>()] = host.subject;
    }
  }
  for (const results::DerivedRecord& record : controls) {
    results::Controls own = results::controls_from_json(record.payload);
    if (own.host.empty() && by_boot.contains(record.subject)) {
      own.host = by_boot.at(record.subject);
    }
    std::optional<results::Controls>& host = joined[own.host];
    host = host.value_or(own);
    for (const results::ControlTime& control : results::kControlTimes) {
      (*host).*control.time = std::min((*host).*control.time, own.*control.time);
    }
  }
  return joined;
}

}  // namespace

analysis::HostControls read_host_controls(const store::Store& store, const results::RunId& run) {
  return join_records(store.derived(run, results::kHostRecord),
                      store.derived(run, results::kControlsRecord));
}

std::vector<analysis::HostReading> read_host_readings(const store::Store& store,
                                                      std::span<const results::RunRecord> runs) {
  std::vector<results::RunId> ids;
  for (const results::RunRecord& run : runs) {
    ids.push_back(run.header.id);
  }
  using Records = std::map<results::RunId, std::vector<results::DerivedRecord>>;
  Records hosts;
  Records controls;
  for (const auto& [kind, records] :
       {std::pair(results::kHostRecord, &hosts), std::pair(results::kControlsRecord, &controls)}) {
    for (results::DerivedRecord& record : store.derived_of_runs(ids, kind)) {
      (*records)[record.run].push_back(std::move(record));
    }
  }
  std::vector<analysis::HostReading> readings;
  for (const results::RunRecord& run : runs) {
    const auto own = controls.find(run.header.id);
    if (own == controls.end()) {
      continue;
    }
    for (const auto& [name, host] : join_records(hosts[run.header.id], own->second)) {
      if (host && host->product > Seconds(0.0) && host->copy > Seconds(0.0)) {
        readings.push_back({analysis::control_class_of(run.header),
                            run.header.id,
                            run.header.started,
                            run.finished,
                            *host});
      }
    }
  }
  return readings;
}

}  // namespace plumb::session
