// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <map>
#include <ostream>
#include <set>
#include <unordered_map>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/store/content_hash.hpp"
#include "harness/store/export_line.hpp"
#include "harness/store/store_errors.hpp"
#include "harness/store/tables/table_store.hpp"

namespace plumb::store {
namespace {

constexpr std::size_t kReferencesPerLine = 1000;
constexpr int kFormatWithoutProfiles = 2;
constexpr int kFormatWithProfiles = 3;

class Export {
 public:
  Export(TableStore::Tables& tables, std::ostream& out) : tables_(tables), out_(out) {
    for (const results::RunRecord& run : tables_.runs.records(RunTable::Detail::kBrief)) {
      const RunTable::Entry entry = tables_.runs.require(run.header.id);
      ids_.emplace(entry.run.number, run.header.id);
      entries_.emplace(entry.run.number, entry);
    }
  }

  void write(std::span<const results::RunId> runs) {
    const std::vector<std::int64_t> numbers = with_lenders(runs);
    put(ExportLines::Header{have_profiles(numbers) ? kFormatWithProfiles : kFormatWithoutProfiles});
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
    put(ExportLines::End{lines_});
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
    const Connection::StatementCache::Use statement =
        tables_.statements.use("select distinct run from profiles");
    bool found = false;
    while (statement->step()) {
      found = std::binary_search(numbers.begin(), numbers.end(), statement->integer()) || found;
    }
    return found;
  }

  void write_rows(std::int64_t number) {
    MeasurementTable::Count count;
    const Connection::StatementCache::Use statement =
        tables_.statements.use(select_rows_sql() + "where m.id >= ? and m.id < ? order by m.id");
    statement->bind(row_id_of(number, 0)).bind(row_id_of(number + 1, 0));
    const MeasurementTable::ReadRows read = tables_.measurements.read(*statement);
    if (!read.faults.empty()) {
      throw damaged_store(read.faults.front());
    }
    for (std::size_t i = 0; i < read.rows.size(); ++i) {
      const results::StoredMeasurement& row = read.rows[i];
      put(ExportLines::Row{
          {row.run, position_of(row.row)}, read.references[i].checksum, row.measurement});
      count.add(row.measurement);
    }
    count.require_complete(entries_.at(number), ids_.at(number));
  }

  void write_reuse(std::int64_t number) {
    const std::vector<results::RowId> rows = reused_by(number);
    for (std::size_t from = 0; from < rows.size(); from += kReferencesPerLine) {
      const std::size_t to = std::min(rows.size(), from + kReferencesPerLine);
      put(ExportLines::Reuse{ids_.at(number),
                             references(std::span(rows).subspan(from, to - from))});
    }
  }

  void write_derived(const results::RunId& run) {
    for (results::DerivedRecord& record : tables_.derived.of_run(run, std::nullopt)) {
      ExportLines::Derived line{{}, references(record.inputs)};
      record.inputs.clear();
      line.record = std::move(record);
      put(line);
    }
  }

  std::vector<ExportLines::RowReference> references(std::span<const results::RowId> rows) const {
    std::vector<ExportLines::RowReference> result;
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

  TableStore::Tables& tables_;
  std::ostream& out_;
  std::map<std::int64_t, results::RunId> ids_;
  std::map<std::int64_t, RunTable::Entry> entries_;
  ExportLines chain_;
  std::int64_t lines_ = 0;
};

}  // namespace

void export_runs(TableStore::Tables& tables,
                 std::ostream& out,
                 std::span<const results::RunId> runs) {
  for (const results::RunId& run : runs) {
    (void)tables.runs.require(run);
  }
  Export(tables, out).write(runs);
}

namespace {

constexpr std::size_t kMaximumLine = std::size_t{64} << 20U;
constexpr std::size_t kRowsPerInsert = 1000;

Error bad_line(const std::string& text) {
  return Error(Error::Kind::kUser, text);
}

/// Reads a line of bounded length. False: there is none.
bool read_line(std::istream& in, std::string& line) {
  line.clear();
  std::streambuf& buffer = *in.rdbuf();
  constexpr int kEnd = std::char_traits<char>::eof();
  for (int c = buffer.sbumpc(); c != kEnd; c = buffer.sbumpc()) {
    if (c == '\n') {
      return true;
    }
    if (line.size() == kMaximumLine) {
      throw bad_line(fmt::format("is longer than {} bytes", kMaximumLine));
    }
    line += static_cast<char>(c);
  }
  return !line.empty();
}

class Import {
 public:
  explicit Import(TableStore::Tables& tables) : tables_(tables) {}

  void take(const std::string& text) {
    const bool sealed = lines_ == 0 ? ExportLines::is_sealed(text) : format_ > 1;
    if (!sealed && ExportLines::is_sealed(text)) {
      throw bad_line("the line has a digest, which format 1 does not have: the header was altered");
    }
    const ExportLine line = parse_export_line(sealed ? chain_.unseal(text) : text);
    const auto* const header = std::get_if<ExportLines::Header>(&line);
    if (lines_ == 0 && header == nullptr) {
      throw bad_line("the file does not begin with the header of an export");
    }
    if (lines_ == 0) {
      format_ = header->format;
    }
    if (format_ > 1 && !sealed) {
      throw bad_line("the header has no digest: it was altered");
    }
    if (ended_) {
      throw bad_line("there is more after the end of the export");
    }
    std::visit([this](const auto& content) { add(content); }, line);
    ++lines_;
  }

  std::size_t finish() {
    if (!ended_) {
      throw bad_line("the export ends early: it was cut off");
    }
    flush();
    for (auto& [id, run] : runs_) {
      const bool open = run.was != results::RunState::kFinished;
      run.entry.state = open ? run.record.state : results::RunState::kFinished;
      run.entry.finished = open ? run.record.finished : run.finished_before;
      tables_.runs.store(run.entry);
      if (format_ == 1 && run.added) {
        mark_as_unguarded(run);
      }
    }
    return new_runs_;
  }

 private:
  struct Run {
    results::RunRecord record;  ///< as imported
    RunTable::Entry entry;
    results::RunState was = results::RunState::kRunning;  ///< in this store
    std::optional<Timestamp> finished_before;
    bool added = false;
    std::multimap<std::int64_t, results::RowId> unmatched;  ///< rows held before, by checksum and
                                                            ///< id
    std::unordered_map<std::int64_t, results::RowId> rows;  ///< by position in the export
  };

  void mark_as_unguarded(const Run& run) {
    results::DerivedRecord mark;
    mark.run = run.record.header.id;
    mark.kind = kUnguardedRecord;
    mark.subject = "export";
    mark.payload = R"({"format":1})";
    mark.computed = run.record.header.started;
    tables_.derived.insert(run.entry.run.number, mark);
  }

  void add(const ExportLines::Header&) {
    if (lines_ != 0) {
      throw bad_line("a second header");
    }
  }

  void add(const ExportLines::End& end) {
    if (end.lines != lines_) {
      throw bad_line(fmt::format(
          "the export had {} lines before this one, but now it has {}", end.lines, lines_));
    }
    ended_ = true;
  }

  void add(const results::RunRecord& record) {
    flush();
    const results::RunHeader& header = record.header;
    if (header.id.empty() || runs_.contains(header.id)) {
      throw bad_line(fmt::format("run '{}' has no id, or occurs twice", header.id));
    }
    const std::size_t known_runs = new_runs_;
    Run run;
    run.record = record;
    require_own_suite(header);
    if (tables_.runs.find(header.id)) {
      const results::RunRecord held = tables_.runs.record(header.id, RunTable::Detail::kFull);
      if (run_checksum(held.header) != run_checksum(header)) {
        throw bad_line(
            fmt::format("run {} differs from the run of this id in the store", header.id));
      }
      run.was = held.state;
      run.finished_before = held.finished;
      if (run.record.state == results::RunState::kRunning) {
        run.record.state = held.state;
        run.record.finished = held.finished;
      }
    } else {
      tables_.runs.insert(header);
      ++new_runs_;
    }
    run.entry = tables_.runs.require(header.id);
    run.added = new_runs_ > known_runs;
    load_held_rows(run);
    for (const std::string& tag : record.tags) {
      if (!tables_.runs.has_tag(tag)) {
        tables_.runs.tag(header.id, tag);
      }
    }
    runs_.emplace(header.id, std::move(run));
  }

  static void require_own_suite(const results::RunHeader& header) {
    constexpr std::size_t kSha256Digits = 64;
    if (header.suite_hash.size() == kSha256Digits &&
        sha256(header.resolved_suite) != header.suite_hash) {
      throw bad_line(
          fmt::format("the suite of run {} does not match its hash: it was altered", header.id));
    }
  }

  void load_held_rows(Run& run) {
    const Connection::StatementCache::Use statement = tables_.statements.use(
        "select id, checksum from measurements where id >= ? and id < ? order by id");
    const std::int64_t number = run.entry.run.number;
    statement->bind(row_id_of(number, 0)).bind(row_id_of(number + 1, 0));
    while (statement->step()) {
      const results::RowId row = statement->integer();
      run.unmatched.emplace(statement->integer(), row);
    }
  }

  Run& run_of(const results::RunId& id) {
    const auto found = runs_.find(id);
    if (found == runs_.end()) {
      throw bad_line(fmt::format("run '{}' does not occur before this line", id));
    }
    return found->second;
  }

  void add(const ExportLines::Row& line) {
    Run& run = run_of(line.place.run);
    const results::Measurement& row = line.row;
    const std::int64_t checksum = row_checksum(row,
                                               run.entry.id_checksum,
                                               ContentHash().bytes(row.key.text).stored(),
                                               ContentHash().bytes(row.variant).stored());
    if (checksum != line.checksum) {
      throw bad_line("the row does not match its checksum: it was altered");
    }
    if (run.rows.contains(line.place.position)) {
      throw bad_line(fmt::format("position {} occurs twice", line.place.position));
    }
    // The first of equal rows is taken, so that equal rows keep their order.
    const auto held = run.unmatched.lower_bound(checksum);
    if (held != run.unmatched.end() && held->first == checksum) {
      run.rows.emplace(line.place.position, held->second);
      run.unmatched.erase(held);
      return;
    }
    if (pending_run_ != &run || pending_.size() == kRowsPerInsert) {
      flush();
    }
    pending_run_ = &run;
    run.rows.emplace(
        line.place.position,
        row_id_of(run.entry.run.number,
                  run.entry.next_position + static_cast<std::int64_t>(pending_.size())));
    pending_.push_back(row);
  }

  void flush() {
    if (!pending_.empty()) {
      Run& run = *pending_run_;
      tables_.measurements.insert(
          run.entry.run, run.entry.id_checksum, run.entry.next_position, pending_);
      run.added = true;
      tables_.runs.count_rows(run.entry, pending_);
      pending_.clear();
    }
    pending_run_ = nullptr;
  }

  std::vector<results::RowId> rows_of(const std::vector<ExportLines::RowReference>& references) {
    std::vector<results::RowId> rows;
    rows.reserve(references.size());
    for (const ExportLines::RowReference& reference : references) {
      const Run& run = run_of(reference.run);
      const auto found = run.rows.find(reference.position);
      if (found == run.rows.end()) {
        throw bad_line(fmt::format("refers to row {} of run {}, which the export does not hold",
                                   reference.position,
                                   reference.run));
      }
      rows.push_back(found->second);
    }
    return rows;
  }

  void add(const ExportLines::Reuse& line) {
    flush();
    RunTable::Entry& entry = run_of(line.run).entry;
    tables_.measurements.link_reused(entry, rows_of(line.rows));
    tables_.runs.store(entry);
  }

  void add(const ExportLines::Derived& line) {
    flush();
    results::DerivedRecord record = line.record;
    record.inputs = rows_of(line.inputs);
    Run& run = run_of(record.run);
    check_derived_payload(record);
    run.added = tables_.derived.insert(run.entry.run.number, record) || run.added;
  }

  void add(const results::StoredProfile& stored) {
    flush();
    Run& run = run_of(stored.run);
    run.added = tables_.profiles.insert(run.entry.run.number, stored) || run.added;
  }

  TableStore::Tables& tables_;
  ExportLines chain_;
  int format_ = 0;
  std::map<results::RunId, Run> runs_;
  Run* pending_run_ = nullptr;
  std::vector<results::Measurement> pending_;
  std::size_t new_runs_ = 0;
  std::int64_t lines_ = 0;
  bool ended_ = false;
};

}  // namespace

std::size_t import_runs(TableStore::Tables& tables, std::istream& in) {
  Import import(tables);
  std::string line;
  std::size_t number = 0;
  try {
    for (number = 1; read_line(in, line); ++number) {
      import.take(line);
    }
    return import.finish();
  } catch (const Error& error) {
    // Only an error of the file itself gets its line: a full disk is not the file's error.
    if (error.kind() != Error::Kind::kUser) {
      throw;
    }
    throw Error(
        Error::Kind::kUser,
        fmt::format("line {} of the import: {}; nothing was imported", number, error.what()));
  }
}

}  // namespace plumb::store
