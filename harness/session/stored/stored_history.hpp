// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/history/run_series.hpp"
#include "harness/analysis/history/series_history.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Selection of a history. If suite or stack is empty, that of the newest finished run is taken.
struct HistoryQuery {
  std::string suite;
  std::string stack;
  std::vector<std::string> series;  ///< ids, layer keys, or beginnings of ids; none: all
  std::optional<analysis::RunSeries> only = {};  ///< this history, and no newest one
};

/// Lists the histories of a store, that of the newest run first. A suite or a stack that is not
/// empty selects some.
[[nodiscard]] std::vector<analysis::RunSeries> list_histories(const store::Store& store,
                                                              const std::string& suite,
                                                              const std::string& stack);

/// Reads every series that the newest run is a point of. These are layers hot (the best variant of
/// each key), models end to end, and their complete bounds. Points are those that a run measured
/// itself, not reused ones. Throws Error{kUser} if there is no such run or series.
[[nodiscard]] analysis::SuiteHistory read_history(const store::Store& store,
                                                  const HistoryQuery& query);

}  // namespace plumb::session
