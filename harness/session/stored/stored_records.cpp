// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/stored_records.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/qualify/qualification_evidence.hpp"
#include "harness/analysis/report/run_report.hpp"
#include "harness/base/error.hpp"

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
  } catch (const store::StaleClaim& stale) {
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

analysis::BaselineEntry make_entry(const results::RunRecord& run,
                                   const results::DerivedRecord& record) {
  const auto payload = nlohmann::json::parse(record.payload);
  analysis::BaselineEntry entry;
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

std::vector<analysis::BaselineEntry> baselines_in(const store::Store& store) {
  std::vector<analysis::BaselineEntry> entries;
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
      analysis::BaselineEntry& entry = entries.emplace_back();
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

}  // namespace plumb::session
