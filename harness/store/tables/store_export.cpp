// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include "harness/base/error.hpp"
#include "harness/store/damage.hpp"
#include "harness/store/export_chain.hpp"
#include "harness/store/export_line.hpp"
#include "harness/store/tables/store_maintenance.hpp"

namespace plumb::store {
namespace {

constexpr std::size_t kReferencesPerLine = 1000;
constexpr int kFormatWithoutProfiles = 2;
constexpr int kFormatWithProfiles = 3;

class Export {
 public:
  Export(StoreTables& tables, std::ostream& out) : tables_(tables), out_(out) {
    for (const results::RunRecord& run : tables_.runs.records(RunTable::Detail::kBrief)) {
      const RunEntry entry = tables_.runs.require(run.header.id);
      ids_.emplace(entry.run.number, run.header.id);
      entries_.emplace(entry.run.number, entry);
    }
  }

  void write(std::span<const results::RunId> runs) {
    const std::vector<std::int64_t> numbers = with_lenders(runs);
    put(ExportedHeader{have_profiles(numbers) ? kFormatWithProfiles : kFormatWithoutProfiles});
    for (const std::int64_t number : numbers) {
      put(tables_.runs.record(ids_.at(number), RunTable::Detail::kFull));
      write_rows(number);
    }
    for (const std::int64_t number : numbers) {
      write_reuse(number);
      write_derived(ids_.at(number));
      for (results::StoredProfile& profile : tables_.profiles.of_run(ids_.at(number))) {
        put(std::move(profile));
      }
    }
    put(ExportedEnd{lines_});
    out_.flush();
    require_written();
  }

 private:
  // Adds the runs that own rows which these runs refer to, until nothing is missing.
  std::vector<std::int64_t> with_lenders(std::span<const results::RunId> runs) {
    std::vector<std::int64_t> open;
    for (const auto& [number, id] : ids_) {
      if (runs.empty() || std::find(runs.begin(), runs.end(), id) != runs.end()) {
        open.push_back(number);
      }
    }
    std::set<std::int64_t> wanted(open.begin(), open.end());
    while (!open.empty()) {
      const std::int64_t number = open.back();
      open.pop_back();
      std::vector<results::RowId> rows = reused_by(number);
      for (const results::DerivedRecord& record :
           tables_.derived.of_run(id_of(number), std::nullopt)) {
        rows.insert(rows.end(), record.inputs.begin(), record.inputs.end());
      }
      for (const results::RowId row : rows) {
        if (wanted.insert(run_number_of(row)).second) {
          open.push_back(run_number_of(row));
        }
      }
    }
    return {wanted.begin(), wanted.end()};
  }

  std::vector<results::RowId> reused_by(std::int64_t number) {
    const results::RunId& id = id_of(number);
    return tables_.measurements.reused_by(entries_.at(number), id);
  }

  const results::RunId& id_of(std::int64_t number) const {
    const auto found = ids_.find(number);
    if (found == ids_.end()) {
      throw damaged_store(fmt::format(
          "the store refers to rows of a run with number {}, which does not exist", number));
    }
    return found->second;
  }

  // Without profiles, an earlier program can read the export.
  bool have_profiles(const std::vector<std::int64_t>& numbers) {
    const StatementUse statement = tables_.statements.use("select distinct run from profiles");
    bool found = false;
    while (statement->step()) {
      found = std::binary_search(numbers.begin(), numbers.end(), statement->integer()) || found;
    }
    return found;
  }

  void write_rows(std::int64_t number) {
    RowCount count;
    const StatementUse statement =
        tables_.statements.use(select_rows_sql() + "where m.id >= ? and m.id < ? order by m.id");
    statement->bind(row_id_of(number, 0)).bind(row_id_of(number + 1, 0));
    const MeasurementTable::ReadRows read = tables_.measurements.read(*statement);
    if (!read.faults.empty()) {
      throw damaged_store(read.faults.front());
    }
    for (std::size_t i = 0; i < read.rows.size(); ++i) {
      const results::StoredMeasurement& row = read.rows[i];
      put(ExportedRow{
          {row.run, position_of(row.row)}, read.references[i].checksum, row.measurement});
      count.add(row.measurement);
    }
    count.require_complete(entries_.at(number), ids_.at(number));
  }

  void write_reuse(std::int64_t number) {
    const std::vector<results::RowId> rows = reused_by(number);
    for (std::size_t from = 0; from < rows.size(); from += kReferencesPerLine) {
      const std::size_t to = std::min(rows.size(), from + kReferencesPerLine);
      put(ExportedReuse{ids_.at(number), references(std::span(rows).subspan(from, to - from))});
    }
  }

  void write_derived(const results::RunId& run) {
    for (results::DerivedRecord& record : tables_.derived.of_run(run, std::nullopt)) {
      ExportedDerived line{{}, references(record.inputs)};
      record.inputs.clear();
      line.record = std::move(record);
      put(line);
    }
  }

  std::vector<RowReference> references(std::span<const results::RowId> rows) const {
    std::vector<RowReference> result;
    result.reserve(rows.size());
    for (const results::RowId row : rows) {
      result.push_back({id_of(run_number_of(row)), position_of(row)});
    }
    return result;
  }

  void put(const ExportLine& line) {
    out_ << chain_.seal(to_json(line)) << '\n';
    ++lines_;
    require_written();
  }

  void require_written() const {
    if (!out_) {
      throw Error(Error::Kind::kEnvironment,
                  "the export could not be written: check free space and that the file may be "
                  "written; the store is unharmed");
    }
  }

  StoreTables& tables_;
  std::ostream& out_;
  std::map<std::int64_t, results::RunId> ids_;
  std::map<std::int64_t, RunEntry> entries_;
  ExportChain chain_;
  std::int64_t lines_ = 0;
};

}  // namespace

void export_runs(StoreTables& tables, std::ostream& out, std::span<const results::RunId> runs) {
  for (const results::RunId& run : runs) {
    (void)tables.runs.require(run);
  }
  Export(tables, out).write(runs);
}

}  // namespace plumb::store
