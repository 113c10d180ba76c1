// SPDX-License-Identifier: Apache-2.0
// The work of shared runs in a SpooledStore. Without its server there is none.
#include "harness/store/spool/spooled_store.hpp"

namespace plumb::store {

template <typename Ask>
auto SpooledStore::ask_work(Ask&& ask) const {
  try {
    return ask(server());
  } catch (const ServerAway& away) {
    if (server_) {
      lose(away);
    }
    throw;
  }
}

results::RunId SpooledStore::begin_or_find(const std::string& name,
                                           const results::RunHeader& header,
                                           const std::string& first) {
  return ask_work([&](TableStore& server) { return server.begin_or_find(name, header, first); });
}

std::optional<std::int64_t> SpooledStore::join(const results::RunId& run,
                                               const std::string& host,
                                               std::chrono::milliseconds lease) {
  const auto member = ask_work([&](TableStore& server) { return server.join(run, host, lease); });
  if (member) {
    remember(run);
  }
  return member;
}

void SpooledStore::renew(const results::RunId& run,
                         std::int64_t member,
                         std::chrono::milliseconds lease) {
  ask_work([&](TableStore& server) { server.renew(run, member, lease); });
}

void SpooledStore::offer(const results::RunId& run, int stage, std::span<const std::string> items) {
  ask_work([&](TableStore& server) { server.offer(run, stage, items); });
}

std::optional<WorkClaim> SpooledStore::claim(const results::RunId& run, int stage) {
  return ask_work([&](TableStore& server) { return server.claim(run, stage); });
}

std::vector<WorkClaim> SpooledStore::claims(const results::RunId& run, int stage) {
  return ask_work([&](TableStore& server) { return server.claims(run, stage); });
}

void SpooledStore::note(const results::RunId& run,
                        std::span<const std::string> items,
                        WorkProgress progress) {
  ask_work([&](TableStore& server) { server.note(run, items, progress); });
}

std::map<int, WorkCount> SpooledStore::count(const results::RunId& run) const {
  return ask_work([&](TableStore& server) { return server.count(run); });
}

}  // namespace plumb::store
