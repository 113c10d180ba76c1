// SPDX-License-Identifier: Apache-2.0
// The work of shared runs in a TableStore.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/base/error.hpp"
#include "harness/store/tables/table_store.hpp"

namespace plumb::store {

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
  within(TransactionKind::kClaim,
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
  within(TransactionKind::kClaim,
         [&] { tables_->work.offer(membership(run).first, stage, items); });
}

std::optional<WorkClaim> TableStore::claim(const results::RunId& run, int stage) {
  return within(TransactionKind::kClaim, [&] {
    const auto [number, member] = membership(run);
    return tables_->work.claim(number, member, stage);
  });
}

std::vector<WorkClaim> TableStore::claims(const results::RunId& run, int stage) {
  return read([&] {
    const auto [number, member] = membership(run);
    return tables_->work.claims(number, member, stage);
  });
}

void TableStore::note(const results::RunId& run,
                      std::span<const std::string> items,
                      WorkProgress progress) {
  within(TransactionKind::kClaim, [&] {
    const auto [number, member] = membership(run);
    tables_->work.note(number, member, items, progress);
  });
}

std::map<int, WorkCount> TableStore::count(const results::RunId& run) const {
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
    throw StaleClaim(fmt::format("run {} is finished: other processes measured all of it", run));
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
    const std::map<int, WorkCount> counts = tables_->work.count(entry.run.number);
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
