// SPDX-License-Identifier: Apache-2.0
#include "harness/store/tables/lease_table.hpp"

#include <fmt/format.h>
#include <unistd.h>

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

std::optional<Lease> LeaseTable::take(std::int64_t run_number, const results::RunId& run) {
  if (held_.contains(run)) {
    return std::nullopt;
  }
  std::unique_ptr<RunLock> lock = statements_.connection().try_lock(run);
  if (!lock) {
    return std::nullopt;
  }
  const StatementUse statement = statements_.use(
      "insert into leases (run, fence, owner, taken) values (?, 1, ?, ?) on conflict (run) do "
      "update set fence = leases.fence + 1, owner = excluded.owner, taken = excluded.taken "
      "returning fence");
  const std::string owner = owner_text();
  statement->bind(run_number).bind(std::string_view(owner)).bind(current_time());
  PLUMB_CHECK(statement->step());
  return Lease{run, statement->integer(), std::move(lock)};
}

void LeaseTable::hold(Lease lease) {
  held_.erase(lease.run);
  results::RunId run = lease.run;
  held_.emplace(std::move(run), std::move(lease));
}

std::optional<Lease> LeaseTable::retake(std::int64_t run_number,
                                        const results::RunId& run,
                                        std::int64_t fence) {
  std::unique_ptr<RunLock> lock = statements_.connection().try_lock(run);
  if (!lock) {
    return std::nullopt;
  }
  require_fence(run_number, run, fence);
  return Lease{run, fence, std::move(lock)};
}

bool LeaseTable::check(std::int64_t run_number, const results::RunId& run) {
  const auto held = held_.find(run);
  if (held == held_.end()) {
    return false;
  }
  require_fence(run_number, run, held->second.fence);
  return true;
}

void LeaseTable::require_fence(std::int64_t run_number,
                               const results::RunId& run,
                               std::int64_t fence) {
  const StatementUse statement = statements_.use("select fence, owner from leases where run = ?");
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

}  // namespace plumb::store
