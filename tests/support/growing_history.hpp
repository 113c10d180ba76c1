// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/history/series_history.hpp"

namespace plumb {

/// Returns the first night on which a history has an open change, from 0. The history is judged
/// after each run from `begin` on, as `plumb detect` does every night: what it finds is entered
/// into the book. With `place`, only a change counts that begins within five runs of it.
inline std::optional<std::size_t> first_open_night(const std::vector<double>& seconds,
                                                   std::size_t begin,
                                                   std::optional<std::size_t> place = {}) {
  constexpr std::size_t kNear = 5;
  analysis::SuiteHistory::Series history{"layers/a", {}};
  std::vector<analysis::SeriesChange::Record> book;
  for (std::size_t night = 0; night < seconds.size(); ++night) {
    history.points.push_back({fmt::format("R{:04}", night), seconds[night]});
    if (night < begin) {
      continue;
    }
    const analysis::SeriesFinding finding = analysis::judge_series(history, book);
    for (const analysis::SeriesChange& change : finding.changes) {
      const bool there =
          !place || (change.index + kNear >= *place && change.index <= *place + kNear);
      if (change.is_open() && there) {
        return night;
      }
    }
    book.insert(book.end(), finding.news.begin(), finding.news.end());
  }
  return std::nullopt;
}

}  // namespace plumb
