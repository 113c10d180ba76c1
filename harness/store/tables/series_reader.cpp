// SPDX-License-Identifier: Apache-2.0
#include "harness/store/tables/series_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "harness/store/damage.hpp"

namespace plumb::store {
namespace {

// Rows of so many runs are in memory at the same time.
constexpr std::size_t kSeriesRunsAtOnce = 1000;

/// Returns the runs of a query by number, as points without a variant and its time.
std::map<std::int64_t, SeriesPoint> read_runs(StatementCache& statements,
                                              const SeriesQuery& query) {
  const StatementUse statement =
      statements.use(std::string("select r.number, r.id, e.id, r.stack, r.started from runs r "
                                 "join environments e on e.number = r.environment ") +
                     (query.environment ? "where e.id = ?" : ""));
  if (query.environment) {
    statement->bind(std::string_view(*query.environment));
  }
  std::map<std::int64_t, SeriesPoint> runs;
  while (statement->step()) {
    SeriesPoint& point = runs[statement->integer()];
    point.run = statement->text();
    point.environment = statement->text();
    point.stack = statement->text();
    point.started = statement->time();
  }
  return runs;
}

/// Row that may represent its run.
struct Candidate {
  const results::StoredMeasurement* row = nullptr;
  measure::SampleSummary corrected;
};

/// Returns the row that represents a run: the fastest variant, among the confirmed ones if there
/// are any. Of a variant that several processes timed, the middle one counts, or the lower of two.
/// Of equal times the first row counts. Needs at least one row.
Candidate find_best(std::span<const results::StoredMeasurement> rows) {
  const auto is_confirmed = [](const results::StoredMeasurement& row) {
    return row.measurement.purpose == results::Purpose::kConfirm;
  };
  const bool confirmed = std::any_of(rows.begin(), rows.end(), is_confirmed);
  std::map<std::string_view, std::vector<Candidate>> by_variant;
  for (const results::StoredMeasurement& row : rows) {
    if (is_confirmed(row) == confirmed) {
      by_variant[row.measurement.variant].push_back({&row, row.measurement.corrected()});
    }
  }
  const auto faster = [](const Candidate& left, const Candidate& right) {
    return std::pair(left.corrected.median, left.row->row) <
           std::pair(right.corrected.median, right.row->row);
  };
  Candidate best;
  for (auto& [variant, of_variant] : by_variant) {
    const auto middle =
        of_variant.begin() + static_cast<std::ptrdiff_t>((of_variant.size() - 1) / 2);
    std::nth_element(of_variant.begin(), middle, of_variant.end(), faster);
    if (best.row == nullptr || faster(*middle, best)) {
      best = *middle;
    }
  }
  return best;
}

}  // namespace

std::vector<SeriesPoint> SeriesReader::all(const SeriesQuery& query) {
  std::map<std::int64_t, SeriesPoint> runs = read_runs(statements_, query);
  const StatementUse statement = statements_.stream(
      std::string("select ").append(kRowColumns) +
      // A cross join keeps this order: one search of the index (run, layer_key, cache) for each
      // run.
      "from runs r cross join measurements m where r.number >= ? and r.number <= ? "
      "and m.run = r.number and m.layer_key = (select id from layer_keys where text = ?) "
      "and m.cache = ? and m.purpose in ('full', 'confirm') and m.outcome in ('ok', 'unstable')" +
      (query.environment ? " and r.environment = (select number from environments where id = ?)"
                         : ""));
  std::vector<SeriesPoint> points;
  for (auto first = runs.begin(); first != runs.end();) {
    auto last = first;
    for (std::size_t i = 1; i < kSeriesRunsAtOnce && std::next(last) != runs.end(); ++i) {
      ++last;
    }
    statement->bind(first->first).bind(last->first);
    statement->bind(std::string_view(query.key)).bind(to_text(query.cache));
    if (query.environment) {
      statement->bind(std::string_view(*query.environment));
    }
    std::vector<results::StoredMeasurement> rows = measurements_.read_intact(*statement);
    std::sort(rows.begin(), rows.end(), [](const auto& one, const auto& other) {
      return one.row < other.row;
    });
    for (auto row = rows.begin(); row != rows.end();) {
      const auto next =
          std::find_if(row, rows.end(), [&](const auto& other) { return other.run != row->run; });
      const auto run = runs.find(run_number_of(row->row));
      if (run == runs.end()) {
        throw damaged_store(fmt::format("run {} lacks its environment", row->run));
      }
      const Candidate best = find_best({row, next});
      SeriesPoint& point = points.emplace_back(std::move(run->second));
      point.variant = best.row->measurement.variant;
      point.corrected = best.corrected;
      row = next;
    }
    first = std::next(last);
  }
  std::stable_sort(points.begin(), points.end(), [](const auto& one, const auto& other) {
    return one.started < other.started;
  });
  return points;
}

}  // namespace plumb::store
