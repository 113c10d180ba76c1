// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/session/work/work_source.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {

/// Stages of a shared run's work, in their order.
enum WorkStage : int {
  kPreparation = 0,  ///< finds what can be reused, calibrates, and lists all other items
  kLayers = 1,       ///< one item a key
  kModels = 2,       ///< one item a model; all keys are measured before
};
/// The one item of the preparation.
inline constexpr const char* kPreparationItem = "prepare";

/// Work of a shared run that this process claims item by item. While the server is away it waits.
class ClaimedWork final : public WorkSource {
 public:
  /// Keeps references to the arguments. No new item is claimed once `stopped` says so.
  ClaimedWork(store::Store& store, const results::RunId& run, const std::function<bool()>& stopped)
      : store_(store), run_(run), stopped_(stopped) {}

  /// Sets the items of which claims may be: all of the suite, with what is still to be measured.
  void set_items(std::vector<WorkItem> items) { items_ = std::move(items); }
  [[nodiscard]] const std::vector<WorkItem>& items() const override { return items_; }
  /// Claims a key, the heaviest first. One that another process left half measured has only the
  /// cache modes that lack; one that lacks none is not returned: take_left() does.
  [[nodiscard]] std::optional<WorkItem> next() override;
  /// Returns the keys that other processes measured but may not have confirmed, once.
  [[nodiscard]] std::set<std::string> take_left() { return std::exchange(left_, {}); }

  void offer(WorkStage stage, const std::vector<std::string>& items);
  /// Claims an item of a stage. Absent: there is none now, or the user stopped the run.
  [[nodiscard]] std::optional<std::string> claim(WorkStage stage);
  /// Returns the items of a stage that this process has and that are not done.
  [[nodiscard]] std::vector<std::string> claims(WorkStage stage);
  void note(const std::vector<std::string>& items, store::WorkProgress progress);
  [[nodiscard]] std::map<int, store::WorkCount> count();
  /// Waits for a moment, in which other processes may leave an item or do one.
  void wait() const;

 private:
  template <typename Ask>
  auto ask(Ask&& ask);
  [[nodiscard]] std::optional<WorkItem> wanted(const std::string& key, bool fresh);

  store::Store& store_;
  const results::RunId& run_;
  const std::function<bool()>& stopped_;
  std::vector<WorkItem> items_;
  std::set<std::string> known_;  ///< keys that next() has looked at
  std::set<std::string> left_;
};

}  // namespace plumb::session
