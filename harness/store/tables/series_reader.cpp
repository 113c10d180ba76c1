// SPDX-License-Identifier: Apache-2.0
#include "harness/store/tables/series_reader.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "harness/store/tables/measurement_row.hpp"

namespace plumb::store {
namespace {

/// Row that may represent its run.
struct Candidate {
  results::RowId row = 0;
  SeriesPoint point;
  bool confirmed = false;
};

Candidate read_candidate(Statement& statement) {
  results::StoredMeasurement row = intact(read_row(statement));
  Candidate candidate;
  candidate.row = row.row;
  SeriesPoint& point = candidate.point;
  point.run = std::move(row.run);
  point.environment = statement.text();
  point.stack = statement.text();
  point.started = statement.time();
  point.corrected = row.measurement.corrected();
  point.variant = std::move(row.measurement.variant);
  candidate.confirmed = row.measurement.purpose == results::Purpose::kConfirm;
  return candidate;
}

/// Returns the point of one run: the fastest variant, among the confirmed ones if there are any. Of
/// a variant that several processes timed, the middle one counts, or the lower of two. Of equal
/// times the first row counts.
SeriesPoint find_best(std::vector<Candidate>& rows) {
  const bool confirmed = std::any_of(
      rows.begin(), rows.end(), [](const Candidate& candidate) { return candidate.confirmed; });
  std::map<std::string, std::vector<Candidate*>> by_variant;
  for (Candidate& row : rows) {
    if (row.confirmed == confirmed) {
      by_variant[row.point.variant].push_back(&row);
    }
  }
  const auto faster = [](const Candidate* left, const Candidate* right) {
    return std::pair(left->point.corrected.median, left->row) <
           std::pair(right->point.corrected.median, right->row);
  };
  Candidate* best = nullptr;
  for (auto& [variant, of_variant] : by_variant) {
    const auto middle =
        of_variant.begin() + static_cast<std::ptrdiff_t>((of_variant.size() - 1) / 2);
    std::nth_element(of_variant.begin(), middle, of_variant.end(), faster);
    if (best == nullptr || faster(*middle, best)) {
      best = *middle;
    }
  }
  return std::move(best->point);
}

}  // namespace

std::vector<SeriesPoint> SeriesReader::all(const SeriesQuery& query) {
  std::string sql =
      std::string("select ").append(kRowColumns) +
      ", e.id, r.stack, r.started "
      // Cross joins keep this order: one search of the index (run, layer_key, cache) for each run.
      "from layer_keys k cross join runs r cross join measurements m "
      "join environments e on e.number = r.environment join variants v on v.id = m.variant "
      "left join attribute_sets a on a.id = m.attributes "
      "where k.text = ? and m.run = r.number and m.layer_key = k.id and m.cache = ? "
      "and m.purpose in ('full', 'confirm') and m.outcome in ('ok', 'unstable')";
  sql += query.environment ? " and e.id = ?" : "";
  sql += " order by r.started, r.number, m.id";
  const StatementUse statement = statements_.stream(sql);
  statement->bind(std::string_view(query.key)).bind(to_text(query.cache));
  if (query.environment) {
    statement->bind(std::string_view(*query.environment));
  }
  std::vector<SeriesPoint> points;
  std::vector<Candidate> rows;  // of one run
  while (statement->step()) {
    Candidate candidate = read_candidate(*statement);
    if (!rows.empty() && rows.back().point.run != candidate.point.run) {
      points.push_back(find_best(rows));
      rows.clear();
    }
    rows.push_back(std::move(candidate));
  }
  if (!rows.empty()) {
    points.push_back(find_best(rows));
  }
  return points;
}

}  // namespace plumb::store
