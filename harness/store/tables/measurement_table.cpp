// SPDX-License-Identifier: Apache-2.0
#include "harness/store/tables/measurement_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/error.hpp"
#include "harness/results/results_json.hpp"
#include "harness/results/sample_codec.hpp"
#include "harness/store/damage.hpp"

namespace plumb::store {

void RowCount::add(const results::Measurement& row) {
  ok_ += row.outcome.timed() ? 1 : 0;
  failed_ += row.outcome.timed() || row.outcome.kind == results::Outcome::Kind::kSkipped ? 0 : 1;
}

void RowCount::require_complete(const RunEntry& run, const results::RunId& id) const {
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

MeasurementTable::MeasurementTable(StatementCache& statements)
    : statements_(statements),
      keys_(statements, "layer_keys"),
      variants_(statements, "variants"),
      attributes_(statements, "attribute_sets"),
      newest_(statements) {}

std::vector<results::RowId> MeasurementTable::insert(const NewestRuns::Run& run,
                                                     std::int64_t run_checksum,
                                                     std::int64_t first_position,
                                                     std::span<const results::Measurement> rows) {
  std::vector<results::RowId> ids;
  ids.reserve(rows.size());
  const std::size_t most = statements_.connection().rows_per_insert();
  std::vector<PreparedRow> prepared(std::min(rows.size(), most));
  for (std::size_t from = 0; from < rows.size(); from += prepared.size()) {
    prepared.resize(std::min(rows.size() - from, most));
    const StatementUse statement =
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
                               const NewestRuns::Run& run,
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

void MeasurementTable::link_reused(RunEntry& run, std::span<const results::RowId> rows) {
  const StatementUse exists = statements_.use("select run from measurements where id = ?");
  const StatementUse link = statements_.use(
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
  keys_.forget();
  variants_.forget();
  attributes_.forget();
  newest_.forget();
}

std::vector<results::StoredMeasurement> MeasurementTable::of_run(const RunEntry& run,
                                                                 const results::RunId& id) {
  std::vector<results::StoredMeasurement> rows;
  {
    RowCount count;
    // Statistics of a server do not know the newest run yet. It would expect one row, and search
    // the texts of each of thousands. It does not look into subqueries, and expects many.
    const StatementUse own = statements_.stream(
        select_rows_sql() +
        "where m.id >= (select cast(? as bigint)) and m.id < (select cast(? as bigint))");
    rows.reserve(static_cast<std::size_t>(run.rows_ok + run.rows_failed));
    own->bind(row_id_of(run.run.number, 0)).bind(row_id_of(run.run.number + 1, 0));
    while (own->step()) {
      rows.push_back(intact(read_row(*own)));
      count.add(rows.back().measurement);
    }
    count.require_complete(run, id);
  }
  const std::size_t reused_rows = reused_by(run, id).size();
  const std::size_t own_rows = rows.size();
  const StatementUse reused = statements_.stream(
      select_rows_sql() + "join reused_rows u on u.measurement = m.id where u.run = ?");
  reused->bind(run.run.number);
  while (reused->step()) {
    rows.push_back(intact(read_row(*reused)));
    rows.back().reused = true;
  }
  if (rows.size() - own_rows != reused_rows) {
    throw damaged_store(fmt::format("run {} lacks rows that it reuses", id));
  }
  std::sort(rows.begin(),
            rows.end(),
            [](const results::StoredMeasurement& a, const results::StoredMeasurement& b) {
              return a.row < b.row;
            });
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
    const StatementUse statement = statements_.use(
        select_rows_sql() +
        "where k.text = ? and m.cache = ? and m.run = ? "
        "and (m.purpose <> 'race' or m.outcome not in ('ok', 'unstable')) order by m.id");
    statement->bind(std::string_view(key.text)).bind(to_text(cache)).bind(*run);
    const std::size_t before = rows.size();
    bool fresh = true;
    while (statement->step()) {
      rows.push_back(intact(read_row(*statement)));
      fresh = fresh && (!not_before || rows.back().measurement.started >= *not_before);
    }
    if (!fresh) {
      rows.resize(before);
    }
  }
  return rows;
}

std::vector<results::RowId> MeasurementTable::reused_by(const RunEntry& run,
                                                        const results::RunId& id) {
  const StatementUse statement =
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

}  // namespace plumb::store
