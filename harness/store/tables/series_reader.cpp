// SPDX-License-Identifier: Apache-2.0
#include "harness/store/tables/series_reader.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

#include "harness/store/tables/measurement_row.hpp"

namespace plumb::store {
namespace {

/// Row that may represent its run.
struct Candidate {
  SeriesPoint point;
  bool confirmed = false;
};

Candidate read_candidate(Statement& statement) {
  results::StoredMeasurement row = intact(read_row(statement));
  Candidate candidate;
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
/// a variant that several processes timed, the middle one counts, or the lower of two.
SeriesPoint find_best(std::vector<Candidate>& rows) {
  const bool confirmed = std::any_of(
      rows.begin(), rows.end(), [](const Candidate& candidate) { return candidate.confirmed; });
  std::map<std::string, std::vector<SeriesPoint*>> by_variant;
  for (Candidate& row : rows) {
    if (row.confirmed == confirmed) {
      by_variant[row.point.variant].push_back(&row.point);
    }
  }
  const auto faster = [](const SeriesPoint* left, const SeriesPoint* right) {
    return left->corrected.median < right->corrected.median;
  };
  SeriesPoint* best = nullptr;
  for (auto& [variant, points] : by_variant) {
    const auto middle = points.begin() + static_cast<std::ptrdiff_t>((points.size() - 1) / 2);
    std::nth_element(points.begin(), middle, points.end(), faster);
    if (best == nullptr || faster(*middle, best)) {
      best = *middle;
    }
  }
  return std::move(*best);
}

/// Returns the statement that selects the rows of the newest runs of `count` series. Its parameters
/// are the place, key, cache mode and environment (or null) of each.
std::string select_latest_sql(std::size_t count) {
  std::string sql = "with q (place, key, cache, environment) as (values ";
  for (std::size_t i = 0; i < count; ++i) {
    sql += i == 0 ? "" : ", ";
    sql += "(cast(? as bigint), cast(? as text), cast(? as text), cast(? as text))";
  }
  return sql.append(") select ").append(kRowColumns) +
         ", e.id, r.stack, r.started, q.place "
         // Cross joins keep this order.
         "from q cross join layer_keys k cross join newest_runs n cross join environments e "
         "cross join runs r cross join measurements m join variants v on v.id = m.variant "
         "left join attribute_sets a on a.id = m.attributes "
         "where k.text = q.key and n.layer_key = k.id and n.cache = q.cache "
         "and e.number = n.environment and (e.id = q.environment or (q.environment is null "
         "and not exists (select 1 from newest_runs o where o.layer_key = n.layer_key "
         "and o.cache = n.cache and (o.timed_started, o.timed_run) > "
         "(n.timed_started, n.timed_run)))) "
         "and r.number = n.timed_run and m.run = r.number and m.layer_key = k.id "
         "and m.cache = q.cache and m.purpose in ('full', 'confirm') "
         "and m.outcome in ('ok', 'unstable') order by q.place, m.id";
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
  const StatementUse statement = statements_.use(sql);
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

std::vector<std::optional<SeriesPoint>> SeriesReader::latest(std::span<const SeriesQuery> queries) {
  constexpr std::size_t kQueriesAtOnce = 1000;  // four parameters each
  std::vector<std::optional<SeriesPoint>> points(queries.size());
  for (std::size_t from = 0; from < queries.size(); from += kQueriesAtOnce) {
    const auto part = queries.subspan(from, std::min(kQueriesAtOnce, queries.size() - from));
    const StatementUse statement = statements_.use(select_latest_sql(part.size()));
    for (std::size_t i = 0; i < part.size(); ++i) {
      const SeriesQuery& query = part[i];
      statement->bind(static_cast<std::int64_t>(i));
      statement->bind(std::string_view(query.key)).bind(to_text(query.cache));
      if (query.environment) {
        statement->bind(std::string_view(*query.environment));
      } else {
        statement->bind_null();
      }
    }
    std::vector<std::vector<Candidate>> rows(part.size());
    while (statement->step()) {
      Candidate candidate = read_candidate(*statement);
      rows.at(static_cast<std::size_t>(statement->integer())).push_back(std::move(candidate));
    }
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (!rows[i].empty()) {
        points[from + i] = find_best(rows[i]);
      }
    }
  }
  return points;
}

}  // namespace plumb::store
