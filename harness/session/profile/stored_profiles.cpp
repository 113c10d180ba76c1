// SPDX-License-Identifier: Apache-2.0
#include "harness/session/profile/stored_profiles.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/model_instance.hpp"
#include "harness/base/error.hpp"
#include "harness/session/profile/profiling_record.hpp"

namespace plumb::session {
namespace {

bool is_of(const results::StoredProfile& profile, const std::string& model) {
  return model.empty() || profile.subject == model ||
         profile.subject.substr(0, profile.subject.find('|')) == model;
}

[[noreturn]] void refuse_run(const store::Store& store, const results::RunId& run) {
  const std::optional<ProfilingRecord> record = read_profiling(store, run);
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
    for (analysis::ModelReport& model : report.models) {
      if (analysis::subject_of(model.bounds.instance) == profile.subject) {
        model.profile = std::move(profile.profile);
        break;
      }
    }
  }
}

}  // namespace plumb::session
