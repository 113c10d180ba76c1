// SPDX-License-Identifier: Apache-2.0
#include "harness/store/tables/work_table.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "harness/base/error.hpp"
#include "harness/base/timestamp.hpp"

namespace plumb::store {

std::string owner_text() {
  std::array<char, 256> host{};
  const bool known = gethostname(host.data(), host.size() - 1) == 0;
  return fmt::format("process {} on {}", getpid(), known ? host.data() : "an unknown host");
}

std::optional<WorkTable::Leases::Lease> WorkTable::Leases::take(std::int64_t run_number,
                                                                const results::RunId& run) {
  if (held_.contains(run)) {
    return std::nullopt;
  }
  std::unique_ptr<Connection::Lock> lock = statements_.connection().try_lock(run);
  if (!lock) {
    return std::nullopt;
  }
  const Connection::StatementCache::Use statement = statements_.use(
      "insert into leases (run, fence, owner, taken) values (?, 1, ?, ?) on conflict (run) do "
      "update set fence = leases.fence + 1, owner = excluded.owner, taken = excluded.taken "
      "returning fence");
  const std::string owner = owner_text();
  statement->bind(run_number).bind(std::string_view(owner)).bind(current_time());
  PLUMB_CHECK(statement->step());
  return WorkTable::Leases::Lease{run, statement->integer(), std::move(lock)};
}

void WorkTable::Leases::hold(WorkTable::Leases::Lease lease) {
  held_.erase(lease.run);
  results::RunId run = lease.run;
  held_.emplace(std::move(run), std::move(lease));
}

std::optional<WorkTable::Leases::Lease> WorkTable::Leases::retake(std::int64_t run_number,
                                                                  const results::RunId& run,
                                                                  std::int64_t fence) {
  std::unique_ptr<Connection::Lock> lock = statements_.connection().try_lock(run);
  if (!lock) {
    return std::nullopt;
  }
  require_fence(run_number, run, fence);
  return WorkTable::Leases::Lease{run, fence, std::move(lock)};
}

bool WorkTable::Leases::check(std::int64_t run_number, const results::RunId& run) {
  const auto held = held_.find(run);
  if (held == held_.end()) {
    return false;
  }
  require_fence(run_number, run, held->second.fence);
  return true;
}

void WorkTable::Leases::require_fence(std::int64_t run_number,
                                      const results::RunId& run,
                                      std::int64_t fence) {
  const Connection::StatementCache::Use statement =
      statements_.use("select fence, owner from leases where run = ?");
  statement->bind(run_number);
  const bool found = statement->step();
  if (found && statement->integer() == fence) {
    return;
  }
  throw Error(Error::Kind::kEnvironment,
              fmt::format("run {} was taken over by {}, which continues it: this process stores no "
                          "further results; its earlier results are kept",
                          run,
                          found ? statement->text() : std::string("an unknown process")));
}

namespace {

/// Moment in microseconds by the clock of the server, not that of the transaction's begin.
constexpr std::string_view kNow = "(extract(epoch from clock_timestamp()) * 1000000)::bigint";

std::int64_t micros(std::chrono::milliseconds lease) {
  return std::chrono::microseconds(lease).count();
}

}  // namespace

void WorkTable::share(std::int64_t run, const std::string& name) {
  const Connection::StatementCache::Use statement =
      statements_.use("insert into shared_runs (run, name) values (?, ?)");
  statement->bind(run).bind(std::string_view(name)).run();
}

bool WorkTable::is_shared(std::int64_t run) {
  const Connection::StatementCache::Use statement =
      statements_.use("select run from shared_runs where run = ?");
  statement->bind(run);
  return statement->step();
}

std::int64_t WorkTable::join(std::int64_t run,
                             const std::string& host,
                             std::chrono::milliseconds lease) {
  const Connection::StatementCache::Use statement = statements_.use(
      fmt::format("insert into members (run, member, host, owner, expires, stored_writes) "
                  "select s.run, coalesce(max(m.member), 0) + 1, ?, ?, {} + ?, 0 "
                  "from shared_runs s left join members m on m.run = s.run where s.run = ? "
                  "group by s.run returning member",
                  kNow));
  const std::string owner = owner_text();
  statement->bind(std::string_view(host)).bind(std::string_view(owner)).bind(micros(lease));
  statement->bind(run);
  PLUMB_CHECK(statement->step());
  return statement->integer();
}

void WorkTable::renew(std::int64_t run, std::int64_t member, std::chrono::milliseconds lease) {
  const Connection::StatementCache::Use statement = statements_.use(
      fmt::format("update members set expires = {} + ? where run = ? and member = ? "
                  "and expires > 0",
                  kNow));
  statement->bind(micros(lease)).bind(run).bind(member).run();
}

void WorkTable::leave(std::int64_t run, std::int64_t member) {
  for (const char* const sql :
       {"update members set expires = 0 where run = ? and member = ?",
        "update work set member = null where run = ? and member = ? and progress < 2"}) {
    const Connection::StatementCache::Use statement = statements_.use(sql);
    statement->bind(run).bind(member).run();
  }
}

bool WorkTable::has_members(std::int64_t run) {
  const Connection::StatementCache::Use statement =
      statements_.use(fmt::format("select member from members where run = ? and expires > {} "
                                  "limit 1",
                                  kNow));
  statement->bind(run);
  return statement->step();
}

void WorkTable::offer(std::int64_t run, int stage, std::span<const std::string> items) {
  const Connection::StatementCache::Use statement = statements_.use(
      "insert into work (run, item, stage, place, progress, member, fence) "
      "values (?, ?, ?, ?, 0, null, 0) on conflict (run, item) do nothing");
  for (std::size_t place = 0; place < items.size(); ++place) {
    statement->bind(run).bind(std::string_view(items[place])).bind(std::int64_t{stage});
    statement->bind(static_cast<std::int64_t>(place)).run();
  }
}

std::optional<SharedWork::Claim> WorkTable::claim(std::int64_t run,
                                                  std::int64_t member,
                                                  int stage) {
  // Those that others look at in this moment are skipped: nobody waits for a claim. A process that
  // this statement does not see yet has just joined: its lease lasts.
  const Connection::StatementCache::Use statement = statements_.use(fmt::format(
      "update work set member = ?, fence = fence + 1 where run = ? and item = ("
      "select w.item from work w where w.run = ? and w.stage = ? and w.progress < 2 "
      "and w.member is distinct from ? and (w.member is null or exists (select 1 from members m "
      "where m.run = w.run and m.member = w.member and m.expires <= {})) "
      "order by w.progress, w.place limit 1 for update of w skip locked) returning item, fence",
      kNow));
  statement->bind(member).bind(run).bind(run).bind(std::int64_t{stage}).bind(member);
  if (!statement->step()) {
    return std::nullopt;
  }
  SharedWork::Claim claim;
  claim.item = statement->text();
  claim.fence = statement->integer();
  fences_[{run, claim.item}] = claim.fence;
  return claim;
}

std::vector<SharedWork::Claim> WorkTable::claims(std::int64_t run, std::int64_t member, int stage) {
  const Connection::StatementCache::Use statement = statements_.use(
      "select item, fence from work where run = ? and member = ? and stage = ? and progress < 2 "
      "order by place");
  statement->bind(run).bind(member).bind(std::int64_t{stage});
  std::vector<SharedWork::Claim> claims;
  while (statement->step()) {
    std::string item = statement->text();
    claims.push_back({std::move(item), statement->integer()});
  }
  return claims;
}

void WorkTable::note(std::int64_t run,
                     std::int64_t member,
                     std::span<const std::string> items,
                     SharedWork::Progress progress) {
  const Connection::StatementCache::Use statement = statements_.use(
      "update work set progress = greatest(progress, ?) where run = ? and item = ? and member = ?");
  for (const std::string& item : items) {
    statement->bind(static_cast<std::int64_t>(progress)).bind(run).bind(std::string_view(item));
    statement->bind(member).run();
  }
}

std::map<int, SharedWork::Count> WorkTable::count(std::int64_t run) {
  const Connection::StatementCache::Use statement = statements_.use(
      "select stage, count(*) filter (where progress = 0), count(*) filter (where progress = 1), "
      "count(*) filter (where progress = 2) from work where run = ? group by stage");
  statement->bind(run);
  std::map<int, SharedWork::Count> counts;
  while (statement->step()) {
    SharedWork::Count& count = counts[static_cast<int>(statement->integer())];
    count.open = static_cast<std::size_t>(statement->integer());
    count.measured = static_cast<std::size_t>(statement->integer());
    count.done = static_cast<std::size_t>(statement->integer());
  }
  return counts;
}

void WorkTable::require_claim(std::int64_t run, std::int64_t member, const std::string& item) {
  const Connection::StatementCache::Use statement = statements_.use(
      "select w.member, w.fence, coalesce(m.owner, 'nobody') from work w "
      "left join members m on m.run = w.run and m.member = w.member "
      "where w.run = ? and w.item = ? for update of w");
  statement->bind(run).bind(std::string_view(item));
  if (!statement->step()) {
    return;
  }
  const std::optional<std::int64_t> owner = statement->optional_integer();
  const std::int64_t fence = statement->integer();
  const auto taken = fences_.find({run, item});
  if (owner == member && (taken == fences_.end() || taken->second == fence)) {
    return;
  }
  throw SharedWork::StaleClaim(
      fmt::format("'{}' was given to {}, because this process was silent for longer "
                  "than its lease: its result was not stored",
                  item,
                  statement->text()));
}

bool WorkTable::count_writes(std::int64_t run, std::int64_t member, std::int64_t end) {
  const Connection::StatementCache::Use statement = statements_.use(
      "update members set stored_writes = ? where run = ? and member = ? and stored_writes < ? "
      "returning member");
  statement->bind(end).bind(run).bind(member).bind(end);
  return statement->step();
}

std::int64_t WorkTable::stored_writes(std::int64_t run, std::int64_t member) {
  const Connection::StatementCache::Use statement =
      statements_.use("select stored_writes from members where run = ? and member = ?");
  statement->bind(run).bind(member);
  PLUMB_CHECK(statement->step());
  return statement->integer();
}

std::optional<std::int64_t> WorkTable::member(const results::RunId& run) const {
  const auto found = members_.find(run);
  return found == members_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace plumb::store
