// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/history/run_series.hpp"
#include "harness/analysis/profile/merged_profile.hpp"
#include "harness/base/error.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/session/profile/run_profiles.hpp"
#include "harness/session/stored/named_runs.hpp"
#include "harness/session/stored/stored_records.hpp"

namespace plumb::session {

using nlohmann::json;

void put_profiling(store::Store& store,
                   const results::RunId& run,
                   const RunProfiles::Record& record) {
  put_run_record(store,
                 run,
                 kProfilingRecord,
                 "models",
                 json{{"models", record.models},
                      {"profiled", record.profiled},
                      {"spent_seconds", record.spent.count()},
                      {"allowed_seconds", record.allowed.count()},
                      {"reason", record.reason}}
                     .dump(-1, ' ', false, json::error_handler_t::replace));
}

std::optional<RunProfiles::Record> read_profiling(const store::Store& store,
                                                  const results::RunId& run) {
  const auto records = store.derived(run, kProfilingRecord);
  if (records.empty()) {
    return std::nullopt;
  }
  const json payload = json::parse(records.back().payload);
  RunProfiles::Record record;
  payload.at("models").get_to(record.models);
  payload.at("profiled").get_to(record.profiled);
  record.spent = Seconds(payload.at("spent_seconds").get<double>());
  record.allowed = Seconds(payload.at("allowed_seconds").get<double>());
  payload.at("reason").get_to(record.reason);
  return record;
}

namespace {

bool is_of(const results::StoredProfile& profile, const std::string& model) {
  return model.empty() || profile.subject == model ||
         profile.subject.substr(0, profile.subject.find('|')) == model;
}

[[noreturn]] void refuse_run(const store::Store& store, const results::RunId& run) {
  const std::optional<RunProfiles::Record> record = read_profiling(store, run);
  throw Error(
      Error::Kind::kUser,
      fmt::format("run {} has no profile{}: `plumb run --profile-budget 30s` takes some",
                  run,
                  record && !record->reason.empty() ? fmt::format(" ({})", record->reason) : ""));
}

[[noreturn]] void refuse_model(const results::RunId& run, const std::set<std::string>& subjects) {
  throw Error(
      Error::Kind::kUser,
      fmt::format(
          "run {} has profiles of {}: name one with --model", run, fmt::join(subjects, ", ")));
}

}  // namespace

std::optional<results::StoredProfile> find_profile(const store::Store& store,
                                                   const results::RunId& run,
                                                   const std::string& model) {
  std::set<std::string> subjects;
  std::optional<results::StoredProfile> found;
  for (results::StoredProfile& profile : store.profiles(run)) {
    if (is_of(profile, model)) {
      subjects.insert(profile.subject);
      found = std::move(profile);
    }
  }
  if (subjects.size() > 1) {
    refuse_model(run, subjects);
  }
  return found;
}

results::StoredProfile read_profile(const store::Store& store,
                                    const results::RunId& run,
                                    const std::string& model) {
  if (std::optional<results::StoredProfile> found = find_profile(store, run, model)) {
    return *std::move(found);
  }
  std::set<std::string> subjects;
  for (const results::StoredProfile& profile : store.profiles(run)) {
    subjects.insert(profile.subject);
  }
  if (subjects.empty()) {
    refuse_run(store, run);
  }
  refuse_model(run, subjects);
}

void add_profiles(const store::Store& store, analysis::RunReport& report) {
  for (results::StoredProfile& profile : store.profiles(report.run.header.id)) {
    for (analysis::RunReport::Model& model : report.models) {
      if (analysis::subject_of(model.bounds.instance) == profile.subject) {
        model.profile = std::move(profile.profile);
        break;
      }
    }
  }
}

std::vector<analysis::RunMerger::DatedProfile> read_dated_profiles(const store::Store& store,
                                                                   Timestamp after) {
  std::vector<analysis::RunMerger::DatedProfile> dated;
  std::size_t read = 0;
  for (const results::RunRecord& run : store.runs()) {
    if (run.state != results::RunState::kFinished || run.header.started < after ||
        results::has_mark(run.header.environment, results::kSampledMark) ||
        ++read > kMaxProfiledRuns) {
      continue;
    }
    for (results::StoredProfile& profile : store.profiles(run.header.id)) {
      dated.push_back({run.header.started,
                       analysis::system_id(run.header.environment),
                       run.header.environment.id(),
                       std::move(profile)});
    }
  }
  return dated;
}

namespace {

/// Lists the runs that may be merged, newest first.
std::vector<results::RunRecord> find_runs(const store::Store& store,
                                          const RunProfiles::Merged::Choice& choice) {
  std::vector<results::RunRecord> runs = find_named_runs(store, choice.runs);
  if (runs.size() > kMaxMergedRuns) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("{} runs are named, where {} can be merged", runs.size(), kMaxMergedRuns));
  }
  if (choice.newest > 1 && runs.size() == 1) {
    const results::RunHeader newest = runs.front().header;
    runs = store.runs();
    std::erase_if(runs, [&](const results::RunRecord& run) {
      return run.state != results::RunState::kFinished || run.header.suite != newest.suite ||
             run.header.started > newest.started ||
             run.header.environment.id() != newest.environment.id();
    });
  }
  std::stable_sort(runs.begin(), runs.end(), [](const auto& left, const auto& right) {
    return left.header.started > right.header.started;
  });
  return runs;
}

}  // namespace

RunProfiles::Merged read_merged_runs(const store::Store& store,
                                     const RunProfiles::Merged::Choice& choice) {
  const std::vector<results::RunRecord> runs = find_runs(store, choice);
  const std::size_t most =
      std::min(choice.newest > 1 ? choice.newest : runs.size(), kMaxMergedRuns);
  analysis::RunMerger merger(most);
  RunProfiles::Merged merged;
  std::string subject;
  std::size_t found = 0;
  for (const results::RunRecord& run : runs) {
    if (found == most) {
      break;
    }
    std::optional<results::StoredProfile> profile =
        find_profile(store, run.header.id, choice.model);
    if (!profile) {
      ++merged.without;
      continue;
    }
    if (!subject.empty() && subject != profile->subject) {
      throw Error(Error::Kind::kUser,
                  fmt::format("the runs have profiles of {} and {}: name one with --model",
                              subject,
                              profile->subject));
    }
    subject = profile->subject;
    ++found;
    merger.add({run.header.started,
                analysis::system_id(run.header.environment),
                run.header.environment.id(),
                *std::move(profile)});
  }
  if (found == 0) {
    throw Error(Error::Kind::kUser,
                fmt::format("no run has a profile{}, of {} that were looked at: `plumb run "
                            "--profile-budget 30s` takes some",
                            choice.model.empty() ? "" : " of " + choice.model,
                            runs.size()));
  }
  merged.profiles = merger.take();
  return merged;
}

}  // namespace plumb::session
