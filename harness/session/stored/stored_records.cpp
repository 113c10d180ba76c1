// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/stored_records.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/history/run_series.hpp"
#include "harness/analysis/qualify/qualification.hpp"
#include "harness/analysis/report/reports.hpp"
#include "harness/base/error.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/labels/run_labels.hpp"

namespace plumb::session {

void put_run_record(store::Store& store,
                    const results::RunId& run,
                    const std::string& kind,
                    const std::string& subject,
                    const std::string& payload) {
  const std::pair<std::string, std::string> record(subject, payload);
  put_run_records(store, run, kind, {&record, 1});
}

void put_run_records(store::Store& store,
                     const results::RunId& run,
                     const std::string& kind,
                     std::span<const std::pair<std::string, std::string>> records) {
  std::vector<results::DerivedRecord> all;
  all.reserve(records.size());
  for (const auto& [subject, payload] : records) {
    all.push_back({.run = run,
                   .kind = kind,
                   .subject = subject,
                   .analysis_version = std::string(analysis::kAnalysisVersion),
                   .inputs = {},
                   .payload = payload,
                   .computed = current_time()});
  }
  try {
    store.put_derived(all);
  } catch (const store::SharedWork::StaleClaim& stale) {
    spdlog::warn("{}", stale.what());
  }
}

std::vector<results::Exclusion> read_exclusions(const store::Store& store,
                                                const results::RunId& run) {
  const std::vector<results::DerivedRecord> records =
      store.derived(run, results::kExclusionsRecord);
  return records.empty() ? std::vector<results::Exclusion>()
                         : results::exclusions_from_json(records.back().payload);
}

std::vector<results::Exclusion> holding_exclusions(const store::Store& store,
                                                   const results::RunHeader& run) {
  std::vector<results::Exclusion> exclusions = read_exclusions(store, run.id);
  const std::string day = analysis::day_of(run);
  std::erase_if(exclusions, [&](const results::Exclusion& each) { return !each.holds_on(day); });
  return exclusions;
}

namespace {

analysis::RunReport::Baseline make_entry(const results::RunRecord& run,
                                         const results::DerivedRecord& record) {
  const auto payload = nlohmann::json::parse(record.payload);
  analysis::RunReport::Baseline entry;
  entry.name = record.subject;
  entry.run = run.header;
  entry.current = run.has_tag(record.subject);
  entry.accepted = parse_timestamp(payload.at("accepted").get<std::string>());
  entry.who = payload.at("who").get<std::string>();
  entry.reason = payload.at("reason").get<std::string>();
  entry.previous = payload.at("previous").get<std::string>();
  return entry;
}

}  // namespace

void accept_baseline(store::Store& store,
                     const results::RunRecord& run,
                     const std::string& name,
                     const std::string& who,
                     const std::string& reason,
                     bool partial) {
  if (run.state == results::RunState::kRunning ||
      (run.state != results::RunState::kFinished && !partial)) {
    throw Error(Error::Kind::kUser,
                fmt::format("run {} is {}: only a finished run can be a baseline; continue it with "
                            "`plumb run --resume`, or accept an interrupted one with --partial",
                            run.header.id,
                            to_text(run.state)));
  }
  if (!analysis::is_point_of_history(run.header)) {
    throw Error(Error::Kind::kUser,
                fmt::format("run {} {}: accept another run of `plumb run` as the baseline",
                            run.header.id,
                            analysis::why_no_history(run.header)));
  }
  std::string previous;
  for (const results::RunRecord& other : store.runs()) {
    if (other.has_tag(name)) {
      previous = other.header.id;
    }
  }
  store.tag(run.header.id, name);
  put_run_record(store,
                 run.header.id,
                 results::kBaselineRecord,
                 name,
                 nlohmann::json{{"accepted", to_text(current_time())},
                                {"who", who},
                                {"reason", reason},
                                {"previous", previous}}
                     .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::vector<analysis::RunReport::Baseline> baselines_in(const store::Store& store) {
  std::vector<analysis::RunReport::Baseline> entries;
  for (const results::RunRecord& run : store.runs()) {
    std::vector<std::string> unrecorded = run.tags;
    std::erase_if(unrecorded, [](const std::string& tag) {
      return tag != "baseline" && !tag.starts_with("baseline/");
    });
    for (const results::DerivedRecord& record :
         store.derived(run.header.id, results::kBaselineRecord)) {
      entries.push_back(make_entry(run, record));
      std::erase(unrecorded, record.subject);
    }
    for (const std::string& tag : unrecorded) {
      analysis::RunReport::Baseline& entry = entries.emplace_back();
      entry.name = tag;
      entry.run = run.header;
      entry.current = true;
    }
  }
  std::stable_sort(entries.begin(), entries.end(), [](const auto& one, const auto& other) {
    return one.accepted > other.accepted;
  });
  return entries;
}

void put_confirmation(store::Store& store,
                      const results::RunId& baseline,
                      const results::RunId& candidate,
                      const StoredConfirmation& confirmation) {
  nlohmann::json document{{"series", confirmation.suspects.series}};
  if (confirmation.pairs) {
    document["pairs"] = nlohmann::json::parse(to_json(*confirmation.pairs));
  } else {
    document["after_process"] = confirmation.after_process;
  }
  put_run_record(store, candidate, results::kConfirmationRecord, baseline, document.dump());
}

std::optional<StoredConfirmation> read_confirmation(const store::Store& store,
                                                    const results::RunId& baseline,
                                                    const results::RunId& candidate) {
  std::optional<StoredConfirmation> confirmation;
  for (const results::DerivedRecord& record :
       store.derived(candidate, results::kConfirmationRecord)) {
    if (record.subject != baseline) {
      continue;
    }
    const auto document = nlohmann::json::parse(record.payload);
    confirmation.emplace();
    for (const auto& series : document.at("series")) {
      confirmation->suspects.series.insert(series.get<std::string>());
    }
    if (document.contains("pairs")) {
      confirmation->pairs = analysis::paired_confirmation_from_json(document.at("pairs").dump());
    } else {
      document.at("after_process").get_to(confirmation->after_process);
    }
  }
  return confirmation;
}

analysis::QualificationReport with_history(const store::Store& store,
                                           analysis::Qualification qualification) {
  analysis::QualificationReport report;
  for (const results::RunRecord& run : store.runs()) {
    for (const results::DerivedRecord& record :
         store.derived(run.header.id, results::kQualificationRecord)) {
      const analysis::Qualification past = analysis::qualification_from_json(record.payload);
      if (past.suite == qualification.suite && past.baseline.name == qualification.baseline.name &&
          past.candidate.name == qualification.candidate.name &&
          past.finished < qualification.finished) {
        report.history.push_back({past.candidate.run, past.finished, past.verdict, past.reason});
      }
    }
  }
  std::stable_sort(
      report.history.begin(), report.history.end(), [](const auto& one, const auto& other) {
        return one.finished > other.finished;
      });
  report.qualification = std::move(qualification);
  return report;
}

std::optional<analysis::QualificationReport> kept_qualification(const store::Store& store,
                                                                const std::string& baseline,
                                                                const std::string& candidate) {
  const results::RunId before = store.find_run(baseline).header.id;
  std::optional<analysis::Qualification> newest;
  for (const results::DerivedRecord& record :
       store.derived(store.find_run(candidate).header.id, results::kQualificationRecord)) {
    analysis::Qualification each = analysis::qualification_from_json(record.payload);
    if (each.baseline.run == before && (!newest || newest->finished <= each.finished)) {
      each.alarms = analysis::alarm_control(each);  // earlier versions had another control
      newest = std::move(each);
    }
  }
  return newest ? std::optional(with_history(store, std::move(*newest))) : std::nullopt;
}

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
  std::vector<analysis::LearnedNoise::RunTimes> times;
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
    for (const results::Controls::Time& control : results::kControlTimes) {
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

std::vector<analysis::HostHealth::Reading> read_host_readings(
    const store::Store& store, std::span<const results::RunRecord> runs) {
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
  std::vector<analysis::HostHealth::Reading> readings;
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
