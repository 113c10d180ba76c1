// SPDX-License-Identifier: Apache-2.0
#include "harness/serve/run_dashboard.hpp"

#include <algorithm>
#include <span>

#include "harness/serve/run_history.hpp"

namespace plumb::serve {

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
