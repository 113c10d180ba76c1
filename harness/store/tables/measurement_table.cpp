// SPDX-License-Identifier: Apache-2.0
#include "harness/store/tables/measurement_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/results_json.hpp"
#include "harness/store/store_errors.hpp"

namespace plumb::store {

void MeasurementTable::Count::add(const results::Measurement& row) {
  ok_ += row.outcome.timed() ? 1 : 0;
  failed_ += row.outcome.timed() || row.outcome.kind == results::Outcome::Kind::kSkipped ? 0 : 1;
}

void MeasurementTable::Count::require_complete(const RunTable::Entry& run,
                                               const results::RunId& id) const {
  if (ok_ != run.rows_ok || failed_ != run.rows_failed) {
    throw damaged_store(
        fmt::format("run {} counted {} timed and {} failed rows, but the store has {} and {}",
                    id,
                    run.rows_ok,
                    run.rows_failed,
                    ok_,
                    failed_));
  }
}

MeasurementTable::MeasurementTable(Connection::StatementCache& statements)
    : statements_(statements),
      runs_(statements, "runs", "number", "id"),
      keys_(statements, "layer_keys"),
      variants_(statements, "variants"),
      attributes_(statements, "attribute_sets"),
      newest_(statements) {}

std::vector<results::RowId> MeasurementTable::insert(const RunTable::Newest::Run& run,
                                                     std::int64_t run_checksum,
                                                     std::int64_t first_position,
                                                     std::span<const results::Measurement> rows) {
  std::vector<results::RowId> ids;
  ids.reserve(rows.size());
  const std::size_t most = statements_.connection().rows_per_insert();
  std::vector<PreparedRow> prepared(std::min(rows.size(), most));
  for (std::size_t from = 0; from < rows.size(); from += prepared.size()) {
    prepared.resize(std::min(rows.size() - from, most));
    const Connection::StatementCache::Use statement =
        statements_.insert("measurements", kInsertColumns, prepared.size());
    for (std::size_t i = 0; i < prepared.size(); ++i) {
      const auto position = first_position + static_cast<std::int64_t>(from + i);
      PreparedRow& row = prepared[i];
      prepare(rows[from + i], run, run_checksum, position, row);
      bind_row(*statement, row.place, *row.row, row.samples, row.readings);
      ids.push_back(row.place.id);
    }
    statement->run();
    for (const PreparedRow& row : prepared) {
      newest_.note(run, row.place.key, *row.row);
    }
  }
  return ids;
}

void MeasurementTable::prepare(const results::Measurement& given,
                               const RunTable::Newest::Run& run,
                               std::int64_t run_checksum,
                               std::int64_t position,
                               PreparedRow& out) {
  out.repair = repaired(given);
  out.row = out.repair ? &*out.repair : &given;
  const TextTable::Entry& key = keys_.entry_of(out.row->key.text);
  const TextTable::Entry& variant = variants_.entry_of(out.row->variant);
  out.place = {row_id_of(run.number, position),
               run.number,
               key.id,
               variant.id,
               row_checksum(*out.row, run_checksum, key.checksum, variant.checksum),
               {}};
  if (!out.row->attributes.empty()) {
    out.place.attributes = attributes_.entry_of(results::to_json(out.row->attributes)).id;
  }
  out.readings = out.row->readings.empty() ? std::string() : to_json(out.row->readings);
  out.samples = results::encode_samples(out.row->samples, out.row->repetitions);
}

void MeasurementTable::link_reused(RunTable::Entry& run, std::span<const results::RowId> rows) {
  const Connection::StatementCache::Use exists =
      statements_.use("select run from measurements where id = ?");
  const Connection::StatementCache::Use link = statements_.use(
      "insert into reused_rows (run, measurement) values (?, ?) on conflict do nothing "
      "returning measurement");
  for (const results::RowId row : rows) {
    exists->bind(row);
    if (!exists->step()) {
      throw Error(
          Error::Kind::kInternal,
          fmt::format("row {} is to be reused, but the store has no such row; please report "
                      "this bug",
                      row));
    }
    const bool own = exists->integer() == run.run.number;
    exists->reset();
    if (own) {
      continue;
    }
    link->bind(run.run.number).bind(row);
    if (link->step()) {
      run.reused_checksum = add_checksums(run.reused_checksum, reuse_checksum(row));
    }
    link->reset();
  }
}

void MeasurementTable::forget() {
  runs_.forget();
  keys_.forget();
  variants_.forget();
  attributes_.forget();
  newest_.forget();
}

MeasurementTable::ReadRows MeasurementTable::read(Statement& statement, std::size_t expected) {
  MeasurementTable::ReadRows read;
  read.rows.reserve(expected);
  read.references.reserve(expected);
  while (statement.step()) {
    read.references.push_back(read_row(statement, read.rows.emplace_back()));
  }
  complete(read);
  return read;
}

std::vector<results::StoredMeasurement> MeasurementTable::read_intact(Statement& statement,
                                                                      std::size_t expected) {
  MeasurementTable::ReadRows read = this->read(statement, expected);
  if (!read.faults.empty()) {
    throw damaged_store(read.faults.front());
  }
  return std::move(read.rows);
}

void MeasurementTable::complete(MeasurementTable::ReadRows& read) {
  const auto load = [&](TextTable& table, const auto& id_of) {
    std::vector<std::int64_t> ids;
    for (const MeasurementTable::References& row : read.references) {
      const std::optional<std::int64_t> id = id_of(row);
      // Rows of one key come together.
      if (id && (ids.empty() || ids.back() != *id)) {
        ids.push_back(*id);
      }
    }
    table.load(std::move(ids));
  };
  load(runs_, [](const MeasurementTable::References& row) { return std::optional(row.run); });
  load(keys_, [](const MeasurementTable::References& row) { return std::optional(row.key); });
  load(variants_,
       [](const MeasurementTable::References& row) { return std::optional(row.variant); });
  load(attributes_, [](const MeasurementTable::References& row) { return row.attributes; });
  std::map<std::int64_t, results::Attributes> attributes;
  const auto take = [](const TextTable& table, std::int64_t id, std::string& text) {
    const TextTable::Text* const known = table.text_of(id);
    if (known == nullptr) {
      return std::optional<std::int64_t>();
    }
    text = known->text;
    return std::optional(known->checksum);
  };
  for (std::size_t i = 0; i < read.rows.size(); ++i) {
    results::StoredMeasurement& row = read.rows[i];
    const MeasurementTable::References& references = read.references[i];
    const MeasurementTable::References::Checksums texts{
        take(runs_, references.run, row.run),
        take(keys_, references.key, row.measurement.key.text),
        take(variants_, references.variant, row.measurement.variant)};
    if (references.attributes) {
      const auto [known, added] = attributes.try_emplace(*references.attributes);
      const TextTable::Text* const text = attributes_.text_of(*references.attributes);
      if (added && text != nullptr) {
        known->second = read_attributes(text->text, row.row);
      }
      row.measurement.attributes = known->second;
    }
    if (std::string fault = row_fault(row, references, texts); !fault.empty()) {
      read.faults.push_back(std::move(fault));
    }
  }
}

std::vector<results::StoredMeasurement> MeasurementTable::of_run(const RunTable::Entry& run,
                                                                 const results::RunId& id) {
  std::vector<results::StoredMeasurement> rows;
  {
    // Statistics of a server do not know the newest run yet. It would expect one row. It does not
    // look into subqueries, and expects many.
    const Connection::StatementCache::Use own = statements_.stream(
        select_rows_sql() +
        "where m.id >= (select cast(? as bigint)) and m.id < (select cast(? as bigint))");
    own->bind(row_id_of(run.run.number, 0)).bind(row_id_of(run.run.number + 1, 0));
    rows = read_intact(*own, static_cast<std::size_t>(run.rows_ok + run.rows_failed));
  }
  MeasurementTable::Count count;
  for (const results::StoredMeasurement& row : rows) {
    count.add(row.measurement);
  }
  count.require_complete(run, id);
  const std::size_t reused_rows = reused_by(run, id).size();
  const Connection::StatementCache::Use statement = statements_.stream(
      select_rows_sql() + "join reused_rows u on u.measurement = m.id where u.run = ?");
  statement->bind(run.run.number);
  std::vector<results::StoredMeasurement> reused = read_intact(*statement, reused_rows);
  if (reused.size() != reused_rows) {
    throw damaged_store(fmt::format("run {} lacks rows that it reuses", id));
  }
  for (results::StoredMeasurement& row : reused) {
    row.reused = true;
    rows.push_back(std::move(row));
  }
  const auto before = [](const results::StoredMeasurement& a, const results::StoredMeasurement& b) {
    return a.row < b.row;
  };
  if (!std::is_sorted(rows.begin(), rows.end(), before)) {
    std::sort(rows.begin(), rows.end(), before);
  }
  return rows;
}

std::vector<results::StoredMeasurement> MeasurementTable::reusable(
    const std::string& environment,
    std::span<const model::LayerKey> keys,
    results::CacheMode cache,
    std::optional<Timestamp> not_before) {
  std::vector<results::StoredMeasurement> rows;
  for (const model::LayerKey& key : keys) {
    const std::optional<std::int64_t> run = newest_.settled_run(key.text, cache, environment);
    if (!run) {
      continue;
    }
    const Connection::StatementCache::Use statement = statements_.use(
        select_rows_sql() +
        "where m.layer_key = (select id from layer_keys where text = ?) and m.cache = ? "
        "and m.run = ? and (m.purpose <> 'race' or m.outcome not in ('ok', 'unstable')) "
        "order by m.id");
    statement->bind(std::string_view(key.text)).bind(to_text(cache)).bind(*run);
    std::vector<results::StoredMeasurement> of_key = read_intact(*statement);
    const bool fresh = std::all_of(of_key.begin(), of_key.end(), [&](const auto& row) {
      return !not_before || row.measurement.started >= *not_before;
    });
    if (fresh) {
      std::move(of_key.begin(), of_key.end(), std::back_inserter(rows));
    }
  }
  return rows;
}

std::vector<results::RowId> MeasurementTable::reused_by(const RunTable::Entry& run,
                                                        const results::RunId& id) {
  const Connection::StatementCache::Use statement =
      statements_.use("select measurement from reused_rows where run = ? order by measurement");
  statement->bind(run.run.number);
  std::vector<results::RowId> rows;
  std::int64_t sum = 0;
  while (statement->step()) {
    rows.push_back(statement->integer());
    sum = add_checksums(sum, reuse_checksum(rows.back()));
  }
  if (sum != run.reused_checksum) {
    throw damaged_store(
        fmt::format("run {}: the rows that it reuses are not the rows that it recorded", id));
  }
  return rows;
}

namespace {

// Rows of so many runs are in memory at the same time.
constexpr std::size_t kSeriesRunsAtOnce = 1000;

/// Returns the runs of a query by number, as points without a variant and its time.
std::map<std::int64_t, Store::SeriesQuery::Point> read_runs(Connection::StatementCache& statements,
                                                            const Store::SeriesQuery& query) {
  const Connection::StatementCache::Use statement =
      statements.use(std::string("select r.number, r.id, e.id, r.stack, r.started from runs r "
                                 "join environments e on e.number = r.environment ") +
                     (query.environment ? "where e.id = ?" : ""));
  if (query.environment) {
    statement->bind(std::string_view(*query.environment));
  }
  std::map<std::int64_t, Store::SeriesQuery::Point> runs;
  while (statement->step()) {
    Store::SeriesQuery::Point& point = runs[statement->integer()];
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

std::vector<Store::SeriesQuery::Point> MeasurementTable::SeriesReader::all(
    const Store::SeriesQuery& query) {
  std::map<std::int64_t, Store::SeriesQuery::Point> runs = read_runs(statements_, query);
  const Connection::StatementCache::Use statement = statements_.stream(
      std::string("select ").append(kRowColumns) +
      // A cross join keeps this order: one search of the index (run, layer_key, cache) for each
      // run.
      "from runs r cross join measurements m where r.number >= ? and r.number <= ? "
      "and m.run = r.number and m.layer_key = (select id from layer_keys where text = ?) "
      "and m.cache = ? and m.purpose in ('full', 'confirm') and m.outcome in ('ok', 'unstable')" +
      (query.environment ? " and r.environment = (select number from environments where id = ?)"
                         : ""));
  std::vector<Store::SeriesQuery::Point> points;
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
      Store::SeriesQuery::Point& point = points.emplace_back(std::move(run->second));
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
