// SPDX-License-Identifier: Apache-2.0
#include "harness/store/tables/derived_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "harness/base/error.hpp"
#include "harness/store/content_hash.hpp"
#include "harness/store/store_errors.hpp"

namespace plumb::store {
namespace {

constexpr std::string_view kSelect =
    "select d.id, r.id, d.kind, d.subject, d.analysis_version, d.payload, d.computed, "
    "(select count(*) from derived_inputs i where i.derived = d.id), d.checksum "
    "from derived d join runs r on r.number = d.run ";
constexpr std::size_t kRunsAtOnce = 200;

std::vector<results::RowId> sorted_once(std::vector<results::RowId> rows) {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

}  // namespace

std::int64_t derived_checksum(const results::DerivedRecord& record,
                              const std::vector<results::RowId>& inputs) {
  ContentHash hash;
  for (const std::string* const text :
       {&record.run, &record.kind, &record.subject, &record.analysis_version, &record.payload}) {
    hash.add(std::string_view(*text));
  }
  hash.add(std::int64_t{record.computed.time_since_epoch().count()});
  for (const results::RowId input : inputs) {
    hash.add(input);
  }
  return hash.stored();
}

bool DerivedTable::holds(std::int64_t run_number,
                         const results::DerivedRecord& record,
                         const std::vector<results::RowId>& inputs) {
  std::vector<std::int64_t> equal;
  {
    const StatementUse statement = statements_.use(
        "select id from derived where run = ? and kind = ? and subject = ? and "
        "analysis_version = ? and payload = ?");
    statement->bind(run_number).bind(std::string_view(record.kind));
    statement->bind(std::string_view(record.subject));
    statement->bind(std::string_view(record.analysis_version));
    statement->bind(std::string_view(record.payload));
    while (statement->step()) {
      equal.push_back(statement->integer());
    }
  }
  return std::any_of(
      equal.begin(), equal.end(), [&](std::int64_t id) { return read_inputs(id) == inputs; });
}

bool DerivedTable::insert(std::int64_t run_number, const results::DerivedRecord& record) {
  const std::vector<results::RowId> inputs = sorted_once(record.inputs);
  if (holds(run_number, record, inputs)) {
    return false;
  }
  std::int64_t id = 0;
  {
    const StatementUse statement = statements_.use(
        "insert into derived (id, run, kind, subject, analysis_version, payload, computed, "
        "checksum) select coalesce(max(id), 0) + 1, ?, ?, ?, ?, ?, ?, ? from derived returning id");
    statement->bind(run_number).bind(std::string_view(record.kind));
    statement->bind(std::string_view(record.subject));
    statement->bind(std::string_view(record.analysis_version));
    statement->bind(std::string_view(record.payload)).bind(record.computed);
    statement->bind(derived_checksum(record, inputs));
    PLUMB_CHECK(statement->step());
    id = statement->integer();
  }
  const StatementUse input =
      statements_.use("insert into derived_inputs (derived, measurement) values (?, ?)");
  for (const results::RowId row : inputs) {
    input->bind(id).bind(row).run();
  }
  return true;
}

std::vector<results::RowId> DerivedTable::read_inputs(std::int64_t id) {
  const StatementUse statement = statements_.use(
      "select measurement from derived_inputs where derived = ? order by measurement");
  statement->bind(id);
  std::vector<results::RowId> inputs;
  while (statement->step()) {
    inputs.push_back(statement->integer());
  }
  return inputs;
}

std::vector<results::DerivedRecord> DerivedTable::read(Statement& statement,
                                                       std::vector<std::string>* faults) {
  std::vector<results::DerivedRecord> records;
  while (statement.step()) {
    const std::int64_t id = statement.integer();
    results::DerivedRecord record;
    record.run = statement.text();
    record.kind = statement.text();
    record.subject = statement.text();
    record.analysis_version = statement.text();
    record.payload = statement.text();
    record.computed = statement.time();
    if (statement.integer() > 0) {
      record.inputs = read_inputs(id);
    }
    if (statement.integer() != derived_checksum(record, record.inputs)) {
      const std::string fault = fmt::format("{} of {} in run {}: does not match its checksum",
                                            record.kind,
                                            record.subject,
                                            record.run);
      if (faults == nullptr) {
        throw damaged_store(fault);
      }
      faults->push_back(fault);
    }
    records.push_back(std::move(record));
  }
  return records;
}

std::vector<std::string> DerivedTable::faults() {
  const StatementUse statement = statements_.use(fmt::format("{}order by d.id", kSelect));
  std::vector<std::string> faults;
  static_cast<void>(read(*statement, &faults));
  return faults;
}

std::vector<results::DerivedRecord> DerivedTable::of_run(const results::RunId& run,
                                                         const std::optional<std::string>& kind) {
  const StatementUse statement =
      statements_.use(std::string(kSelect) + (kind ? "where r.id = ? and d.kind = ? order by d.id"
                                                   : "where r.id = ? order by d.id"));
  statement->bind(std::string_view(run));
  if (kind) {
    statement->bind(std::string_view(*kind));
  }
  return read(*statement);
}

std::vector<results::DerivedRecord> DerivedTable::of_runs(std::span<const results::RunId> runs,
                                                          const std::string& kind) {
  std::string places = "?";
  for (std::size_t i = 1; i < kRunsAtOnce; ++i) {
    places += ", ?";
  }
  const StatementUse statement = statements_.use(
      fmt::format("{}where d.kind = ? and r.id in ({}) order by d.id", kSelect, places));
  std::vector<results::DerivedRecord> records;
  for (std::size_t begin = 0; begin < runs.size(); begin += kRunsAtOnce) {
    statement->bind(std::string_view(kind));
    for (std::size_t i = begin; i < begin + kRunsAtOnce; ++i) {
      statement->bind(std::string_view(runs[std::min(i, runs.size() - 1)]));
    }
    auto of_some = read(*statement);
    std::move(of_some.begin(), of_some.end(), std::back_inserter(records));
  }
  return records;
}

std::optional<results::DerivedRecord> DerivedTable::latest(const std::string& kind,
                                                           const std::string& environment) {
  const StatementUse statement = statements_.use(
      std::string(kSelect) +
      "join environments e on e.number = r.environment where d.kind = ? and e.id = ? "
      "order by d.computed desc, d.id desc limit 1");
  statement->bind(std::string_view(kind)).bind(std::string_view(environment));
  std::vector<results::DerivedRecord> records = read(*statement);
  return records.empty() ? std::nullopt : std::optional(std::move(records.front()));
}

}  // namespace plumb::store
