// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/history/middle_run.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/compare/paired_metric.hpp"
#include "harness/base/error.hpp"
#include "harness/results/series/series_name.hpp"

namespace plumb::analysis {
namespace {

/// Scores of runs by one kind of series. The score is the sum of median ln(time) over the series
/// that all runs have.
struct KindScores {
  std::vector<double> of_runs;
  std::size_t series = 0;
};

KindScores compute_scores(std::span<const RunTimes> runs, bool (*is_of_kind)(std::string_view)) {
  KindScores scores{std::vector<double>(runs.size(), 0.0), 0};
  for (const auto& entry : runs.front().logs) {
    const std::string& series = entry.first;
    const bool common =
        is_of_kind(series) && std::all_of(runs.begin(), runs.end(), [&](const RunTimes& run) {
          const auto found = run.logs.find(series);
          return found != run.logs.end() && !found->second.empty();
        });
    if (!common) {
      continue;
    }
    ++scores.series;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      scores.of_runs[i] += compute_median(runs[i].logs.at(series));
    }
  }
  return scores;
}

}  // namespace

std::size_t middle_run(std::span<const RunTimes> runs) {
  PLUMB_CHECK(!runs.empty());
  KindScores scores = compute_scores(runs, results::is_model_series);
  if (scores.series == 0) {
    scores = compute_scores(runs, results::is_layer_series);
  }
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    return scores.of_runs[one] < scores.of_runs[other];
  });
  return order[order.size() / 2];
}

}  // namespace plumb::analysis
