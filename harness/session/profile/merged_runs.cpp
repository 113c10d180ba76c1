// SPDX-License-Identifier: Apache-2.0
#include "harness/session/profile/merged_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "harness/analysis/history/run_series.hpp"
#include "harness/analysis/profile/merged_profile.hpp"
#include "harness/base/error.hpp"
#include "harness/session/profile/stored_profiles.hpp"
#include "harness/session/stored/named_runs.hpp"

namespace plumb::session {
namespace {

/// Lists the runs that may be merged, newest first.
std::vector<results::RunRecord> find_runs(const store::Store& store,
                                          const MergedRunsChoice& choice) {
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

MergedRuns read_merged_runs(const store::Store& store, const MergedRunsChoice& choice) {
  const std::vector<results::RunRecord> runs = find_runs(store, choice);
  const std::size_t most =
      std::min(choice.newest > 1 ? choice.newest : runs.size(), kMaxMergedRuns);
  analysis::RunMerger merger(most);
  MergedRuns merged;
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
