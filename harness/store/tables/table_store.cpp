// SPDX-License-Identifier: Apache-2.0
#include "harness/store/tables/table_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/base/error.hpp"
#include "harness/store/tables/connection.hpp"

namespace plumb::store {

TableStore::TableStore(std::unique_ptr<Connection> connection, const Store::Access& access)
    : tables_(std::make_unique<TableStore::Tables>(std::move(connection))) {
  with_advice(tables_->connection.restore_advice(), [&] {
    bring_up_to_date(tables_->connection, access.migrate, [this] { tables_->runs.guard_all(); });
  });
}

RunTable::Entry TableStore::writable_run(const results::RunId& run) {
  const RunTable::Entry entry = tables_->runs.require(run);
  const bool taken = tables_->work.member(run) || tables_->leases.check(entry.run.number, run);
  if (entry.state == results::RunState::kFinished) {
    throw Error(
        Error::Kind::kInternal,
        fmt::format("run {} is finished: nothing can be added to it; please report this bug", run));
  }
  if (!taken) {
    throw Error(
        Error::Kind::kInternal,
        fmt::format("run {} was not taken before it was written to; please report this bug", run));
  }
  return entry;
}

void TableStore::begin_run(const results::RunHeader& header) {
  std::optional<WorkTable::Leases::Lease> lease = write([&] {
    tables_->runs.insert(header);
    return tables_->leases.take(tables_->runs.require(header.id).run.number, header.id);
  });
  PLUMB_CHECK(lease.has_value());
  tables_->leases.hold(std::move(*lease));
}

bool TableStore::take_run(const results::RunId& run) {
  std::optional<WorkTable::Leases::Lease> lease =
      write([&]() -> std::optional<WorkTable::Leases::Lease> {
        RunTable::Entry entry = tables_->runs.require(run);
        if (entry.state == results::RunState::kFinished ||
            tables_->work.is_shared(entry.run.number)) {
          return std::nullopt;
        }
        std::optional<WorkTable::Leases::Lease> taken = tables_->leases.take(entry.run.number, run);
        if (taken) {
          tables_->runs.count_rows(entry, {});  // it is running again
        }
        return taken;
      });
  if (lease) {
    tables_->leases.hold(std::move(*lease));
  }
  return lease.has_value();
}

std::vector<results::RowId> TableStore::append(const results::RunId& run,
                                               std::span<const results::Measurement> rows) {
  return write([&] {
    if (const auto member = tables_->work.member(run)) {
      const std::int64_t number = tables_->runs.require(run).run.number;
      return append_shared(run, *member, tables_->work.stored_writes(number, *member), rows);
    }
    RunTable::Entry entry = writable_run(run);
    std::vector<results::RowId> ids =
        tables_->measurements.insert(entry.run, entry.id_checksum, entry.next_position, rows);
    tables_->runs.count_rows(entry, rows);
    return ids;
  });
}

void TableStore::link_reused(const results::RunId& run, std::span<const results::RowId> rows) {
  write([&] {
    RunTable::Entry entry = writable_run(run);
    tables_->measurements.link_reused(entry, rows);
    tables_->runs.count_rows(entry, {});
  });
}

void TableStore::finish_run(const results::RunId& run,
                            results::RunState state,
                            Timestamp finished) {
  write([&] {
    if (const auto member = tables_->work.member(run)) {
      leave(run, *member, state, finished);
      return;
    }
    RunTable::Entry entry = writable_run(run);
    entry.state = state;
    entry.finished = state == results::RunState::kRunning ? std::nullopt : std::optional(finished);
    tables_->runs.store(entry);
  });
  if (state != results::RunState::kRunning) {
    release(run);
  }
}

std::vector<results::RunRecord> TableStore::runs() const {
  return read([&] { return tables_->runs.records(RunTable::Detail::kBrief); });
}

results::RunRecord TableStore::find_run(const std::string& name) const {
  return read(
      [&] { return tables_->runs.record(tables_->runs.resolve(name), RunTable::Detail::kFull); });
}

std::vector<results::StoredMeasurement> TableStore::measurements(const results::RunId& run) const {
  return read([&] { return tables_->measurements.of_run(tables_->runs.require(run), run); });
}

std::vector<results::StoredMeasurement> TableStore::reusable(
    const std::string& environment_id,
    std::span<const model::LayerKey> keys,
    results::CacheMode cache,
    std::optional<Timestamp> not_before) const {
  return read(
      [&] { return tables_->measurements.reusable(environment_id, keys, cache, not_before); });
}

std::vector<Store::SeriesQuery::Point> TableStore::series(const Store::SeriesQuery& query) const {
  return read([&] { return tables_->series.all(query); });
}

void TableStore::put_derived(std::span<const results::DerivedRecord> records) {
  write([&] {
    for (const results::DerivedRecord& record : records) {
      const std::int64_t run = tables_->runs.require(record.run).run.number;
      if (const auto member = tables_->work.member(record.run);
          member && is_of_model(record.kind)) {
        tables_->work.require_claim(run, *member, model_item(record.subject));
      }
      tables_->derived.insert(run, record);
    }
  });
}

std::vector<results::DerivedRecord> TableStore::derived(const results::RunId& run,
                                                        const std::string& kind) const {
  return read([&] { return tables_->derived.of_run(run, kind); });
}

std::vector<results::DerivedRecord> TableStore::derived_of_runs(
    std::span<const results::RunId> runs, const std::string& kind) const {
  return read([&] { return tables_->derived.of_runs(runs, kind); });
}

std::optional<results::DerivedRecord> TableStore::latest_calibration(
    const std::string& environment_id) const {
  return read([&] { return tables_->derived.latest(results::kCalibrationRecord, environment_id); });
}

void TableStore::put_profile(const results::StoredProfile& profile) {
  write([&] {
    const std::int64_t run = tables_->runs.require(profile.run).run.number;
    tables_->profiles.insert(run, profile);
  });
}

std::vector<results::StoredProfile> TableStore::profiles(const results::RunId& run) const {
  return read([&] { return tables_->profiles.of_run(run); });
}

void TableStore::tag(const results::RunId& run, const std::string& tag) {
  write([&] { tables_->runs.tag(run, tag); });
}

std::int64_t TableStore::revision() const {
  return tables_->connection.revision();
}

Bytes TableStore::size() const {
  return tables_->connection.size();
}

int TableStore::schema_version() const {
  return with_advice(tables_->connection.restore_advice(),
                     [&] { return read_schema_version(tables_->connection); });
}

std::vector<std::string> TableStore::verify() const {
  return read([&] { return verify_tables(*tables_); });
}

void TableStore::export_to(std::ostream& out, std::span<const results::RunId> runs) const {
  read([&] { export_runs(*tables_, out, runs); });
}

std::size_t TableStore::import_from(std::istream& in) {
  return write([&] { return import_runs(*tables_, in); });
}

Store::Garbage TableStore::collect_garbage(Timestamp before,
                                           std::optional<Timestamp> profiles_before) {
  Store::Garbage collected =
      write([&] { return collect_garbage_of(*tables_, before, profiles_before.value_or(before)); });
  tables_->connection.shrink();
  collected.keeps_free_room = tables_->connection.keeps_free_room();
  return collected;
}

TableStore::Place TableStore::place(const results::RunId& run) const {
  return read([&] {
    const RunTable::Entry entry = tables_->runs.require(run);
    if (const auto member = tables_->work.member(run)) {
      return Place{
          entry.run.number, tables_->work.stored_writes(entry.run.number, *member), *member, true};
    }
    return Place{entry.run.number, entry.next_position, tables_->leases.fence(run), false};
  });
}

bool TableStore::retake(const results::RunId& run, std::int64_t fence) {
  const std::int64_t number = read([&] { return tables_->runs.require(run).run.number; });
  if (read([&] { return tables_->work.is_shared(number); })) {
    tables_->work.hold(run, fence);
    return true;
  }
  std::optional<WorkTable::Leases::Lease> lease =
      write([&] { return tables_->leases.retake(number, run, fence); });
  if (lease) {
    tables_->leases.hold(std::move(*lease));
  }
  return lease.has_value();
}

void TableStore::append_at(const results::RunId& run,
                           std::int64_t position,
                           std::span<const results::Measurement> rows) {
  write([&] {
    if (const auto member = tables_->work.member(run)) {
      append_shared(run, *member, position, rows);
      return;
    }
    RunTable::Entry entry = tables_->runs.require(run);
    const auto end = position + static_cast<std::int64_t>(rows.size());
    if (tables_->leases.check(entry.run.number, run) && entry.next_position >= end) {
      return;
    }
    entry = writable_run(run);
    if (entry.next_position != position) {
      throw Error(Error::Kind::kEnvironment,
                  fmt::format("run {} has {} rows, so that none fits at position {}: another "
                              "process wrote to it",
                              run,
                              entry.next_position,
                              position));
    }
    tables_->measurements.insert(entry.run, entry.id_checksum, position, rows);
    tables_->runs.count_rows(entry, rows);
  });
}

void TableStore::end_again(const results::RunId& run, results::RunState state, Timestamp finished) {
  const bool finished_before =
      read([&] { return tables_->runs.require(run).state == results::RunState::kFinished; });
  if (!finished_before) {
    finish_run(run, state, finished);
  }
}

std::vector<results::DerivedRecord> TableStore::derived_of(const results::RunId& run) const {
  return read([&] { return tables_->derived.of_run(run, std::nullopt); });
}

// The work of shared runs in a TableStore.

SharedWork& TableStore::shared_work() {
  if (!tables_->connection.has_row_locks()) {
    throw Error(Error::Kind::kUser,
                fmt::format("processes cannot share a run of the store '{}', which is a file: name "
                            "a PostgreSQL server with --store, or split the suite with --shard",
                            tables_->connection.name()));
  }
  return *this;
}

results::RunId TableStore::begin_or_find(const std::string& name,
                                         const results::RunHeader& header,
                                         const std::string& first) {
  return write([&] {
    if (auto found = tables_->runs.find_named(name)) {
      return *std::move(found);
    }
    require_tag_text(name);
    tables_->runs.insert(header);
    const std::int64_t run = tables_->runs.require(header.id).run.number;
    tables_->work.share(run, name);
    tables_->work.offer(run, 0, {&first, 1});
    return header.id;
  });
}

std::optional<std::int64_t> TableStore::join(const results::RunId& run,
                                             const std::string& host,
                                             std::chrono::milliseconds lease) {
  const auto member = write([&]() -> std::optional<std::int64_t> {
    RunTable::Entry entry = tables_->runs.require(run);
    if (!tables_->work.is_shared(entry.run.number)) {
      throw Error(Error::Kind::kUser,
                  fmt::format("run {} cannot be joined: it was begun without --join", run));
    }
    if (entry.state == results::RunState::kFinished) {
      return std::nullopt;
    }
    tables_->runs.count_rows(entry, {});  // it is running again
    return tables_->work.join(entry.run.number, host, lease);
  });
  if (member) {
    tables_->work.hold(run, *member);
  }
  return member;
}

void TableStore::renew(const results::RunId& run,
                       std::int64_t member,
                       std::chrono::milliseconds lease) {
  within(Connection::TransactionKind::kClaim,
         [&] { tables_->work.renew(tables_->runs.require(run).run.number, member, lease); });
}

std::pair<std::int64_t, std::int64_t> TableStore::membership(const results::RunId& run) const {
  const std::optional<std::int64_t> member = tables_->work.member(run);
  if (!member) {
    throw Error(Error::Kind::kInternal,
                fmt::format("run {} was not joined; please report this bug", run));
  }
  return {tables_->runs.require(run).run.number, *member};
}

void TableStore::offer(const results::RunId& run, int stage, std::span<const std::string> items) {
  within(Connection::TransactionKind::kClaim,
         [&] { tables_->work.offer(membership(run).first, stage, items); });
}

std::optional<SharedWork::Claim> TableStore::claim(const results::RunId& run, int stage) {
  return within(Connection::TransactionKind::kClaim, [&] {
    const auto [number, member] = membership(run);
    return tables_->work.claim(number, member, stage);
  });
}

std::vector<SharedWork::Claim> TableStore::claims(const results::RunId& run, int stage) {
  return read([&] {
    const auto [number, member] = membership(run);
    return tables_->work.claims(number, member, stage);
  });
}

void TableStore::note(const results::RunId& run,
                      std::span<const std::string> items,
                      SharedWork::Progress progress) {
  within(Connection::TransactionKind::kClaim, [&] {
    const auto [number, member] = membership(run);
    tables_->work.note(number, member, items, progress);
  });
}

std::map<int, SharedWork::Count> TableStore::count(const results::RunId& run) const {
  return read([&] { return tables_->work.count(tables_->runs.require(run).run.number); });
}

std::vector<results::RowId> TableStore::append_shared(const results::RunId& run,
                                                      std::int64_t member,
                                                      std::int64_t position,
                                                      std::span<const results::Measurement> rows) {
  RunTable::Entry entry = tables_->runs.require(run);
  if (!tables_->work.count_writes(
          entry.run.number, member, position + static_cast<std::int64_t>(rows.size()))) {
    return {};
  }
  std::set<std::string> keys;
  for (const results::Measurement& row : rows) {
    keys.insert(row.key.text);
  }
  for (const std::string& key : keys) {
    tables_->work.require_claim(entry.run.number, member, key);
  }
  if (entry.state == results::RunState::kFinished) {
    throw SharedWork::StaleClaim(
        fmt::format("run {} is finished: other processes measured all of it", run));
  }
  std::vector<results::RowId> ids =
      tables_->measurements.insert(entry.run, entry.id_checksum, entry.next_position, rows);
  tables_->runs.count_rows(entry, rows);
  return ids;
}

void TableStore::leave(const results::RunId& run,
                       std::int64_t member,
                       results::RunState state,
                       Timestamp finished) {
  RunTable::Entry entry = tables_->runs.require(run);
  if (state == results::RunState::kRunning || entry.state == results::RunState::kFinished) {
    return;
  }
  tables_->work.leave(entry.run.number, member);
  if (state == results::RunState::kFinished) {
    const std::map<int, SharedWork::Count> counts = tables_->work.count(entry.run.number);
    const bool done = std::all_of(counts.begin(), counts.end(), [](const auto& stage) {
      return stage.second.done == stage.second.total();
    });
    if (!done) {
      throw Error(Error::Kind::kInternal,
                  fmt::format("run {} is not finished: some of its work is not done; please report "
                              "this bug",
                              run));
    }
  } else if (tables_->work.has_members(entry.run.number)) {
    return;  // Others go on with it.
  }
  entry.state = state;
  entry.finished = finished;
  tables_->runs.store(entry);
}

}  // namespace plumb::store
