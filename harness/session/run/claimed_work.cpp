// SPDX-License-Identifier: Apache-2.0
#include "harness/session/run/claimed_work.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "harness/session/work/planner.hpp"
#include "harness/store/server_away.hpp"

namespace plumb::session {
namespace {

constexpr std::chrono::milliseconds kPause{250};
constexpr std::chrono::minutes kMaxOutage{15};

}  // namespace

/// Returns what `ask` answers. Waits while the server is away. Throws ServerAway if that lasts too
/// long, or the user stopped the run.
template <typename Ask>
auto ClaimedWork::ask(Ask&& ask) {
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    try {
      return ask(store_.shared_work());
    } catch (const store::ServerAway&) {
      if (stopped_() || std::chrono::steady_clock::now() - start > kMaxOutage) {
        throw;
      }
      wait();
    }
  }
}

std::optional<WorkItem> ClaimedWork::next() {
  while (!stopped_()) {
    const auto claim = ask([&](store::SharedWork& work) { return work.claim(run_, kLayers); });
    std::string key;
    if (claim) {
      key = claim->item;
    } else {
      // A claim whose answer was lost with the server.
      const std::vector<std::string> mine = claims(kLayers);
      const auto lost = std::find_if(mine.begin(), mine.end(), [&](const std::string& item) {
        return !known_.contains(item);
      });
      if (lost == mine.end()) {
        return std::nullopt;
      }
      key = *lost;
    }
    known_.insert(key);
    if (auto item = wanted(key, claim && claim->fence == 1)) {
      return item;
    }
    left_.insert(key);
  }
  return std::nullopt;
}

std::optional<WorkItem> ClaimedWork::wanted(const std::string& key, bool fresh) {
  const auto found = std::find_if(
      items_.begin(), items_.end(), [&](const WorkItem& item) { return item.key.text == key; });
  if (found == items_.end()) {
    return std::nullopt;
  }
  if (fresh) {
    return *found;
  }
  spdlog::info("another process left a layer unfinished; key={}", key);
  const std::vector<WorkItem> open = without_measured({*found}, store_.measurements(run_));
  return open.empty() ? std::nullopt : std::optional(open.front());
}

void ClaimedWork::offer(WorkStage stage, const std::vector<std::string>& items) {
  ask([&](store::SharedWork& work) { work.offer(run_, stage, items); });
}

std::optional<std::string> ClaimedWork::claim(WorkStage stage) {
  if (stopped_()) {
    return std::nullopt;
  }
  auto claim = ask([&](store::SharedWork& work) { return work.claim(run_, stage); });
  return claim ? std::optional(std::move(claim->item)) : std::nullopt;
}

std::vector<std::string> ClaimedWork::claims(WorkStage stage) {
  std::vector<std::string> items;
  for (store::WorkClaim& claim :
       ask([&](store::SharedWork& work) { return work.claims(run_, stage); })) {
    items.push_back(std::move(claim.item));
  }
  return items;
}

void ClaimedWork::note(const std::vector<std::string>& items, store::WorkProgress progress) {
  ask([&](store::SharedWork& work) { work.note(run_, items, progress); });
}

std::map<int, store::WorkCount> ClaimedWork::count() {
  return ask([&](store::SharedWork& work) { return work.count(run_); });
}

void ClaimedWork::wait() const {
  std::this_thread::sleep_for(kPause);
}

}  // namespace plumb::session
