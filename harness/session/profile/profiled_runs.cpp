// SPDX-License-Identifier: Apache-2.0
#include "harness/session/profile/profiled_runs.hpp"

#include <utility>

#include "harness/analysis/history/run_series.hpp"
#include "harness/results/labels/run_marks.hpp"

namespace plumb::session {

std::vector<analysis::DatedProfile> read_dated_profiles(const store::Store& store,
                                                        Timestamp after) {
  std::vector<analysis::DatedProfile> dated;
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

}  // namespace plumb::session
