// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/run.hpp"

namespace plumb::store {

/// How far an item of shared work is.
enum class WorkProgress {
  kOpen,      ///< not measured
  kMeasured,  ///< measured once: what depends on it may begin
  kDone,
};

/// Item of a shared run's work that one process has claimed.
struct WorkClaim {
  std::string item;
  std::int64_t fence = 0;  ///< 1: nobody had it before
};

/// Numbers of items of one stage.
struct WorkCount {
  std::size_t open = 0;
  std::size_t measured = 0;
  std::size_t done = 0;

  [[nodiscard]] std::size_t total() const { return open + measured + done; }
};

/// Returns the item of a model, of which this is the subject of its records.
[[nodiscard]] inline std::string model_item(const std::string& subject) {
  return "model " + subject;
}
/// Returns whether records of a kind need the item of their model.
[[nodiscard]] inline bool is_of_model(const std::string& record_kind) {
  return record_kind == results::kExecutionRecord || record_kind == "load";
}

/// Error of a result whose item another process has by now. It was not stored.
class StaleClaim : public Error {
 public:
  explicit StaleClaim(const std::string& text) : Error(Kind::kEnvironment, text) {}
};

/// Work of runs that several processes measure together (docs/reference/shared-runs.md).
///
/// An item is the key of a layer, or a model (model_item()). A process that joined a run may store
/// rows of a key, and executions and loads of a model, only while it has the item, if there is one.
/// Throws as Store does.
class SharedWork {
 public:
  SharedWork() = default;
  virtual ~SharedWork() = default;
  SharedWork(const SharedWork&) = delete;
  SharedWork& operator=(const SharedWork&) = delete;

  /// Returns the run of this name, id or tag. Where there is none, begins the header's run under
  /// this name, with one item of stage 0: `first`. Throws Error{kUser} for a text that cannot be a
  /// name.
  virtual results::RunId begin_or_find(const std::string& name,
                                       const results::RunHeader& header,
                                       const std::string& first) = 0;
  /// Joins a run for this store, and returns the number of the process in it. The lease is as long
  /// as `lease`, from now. Absent: the run is finished. Throws Error{kUser} for a run that is not
  /// shared.
  [[nodiscard]] virtual std::optional<std::int64_t> join(const results::RunId& run,
                                                         const std::string& host,
                                                         std::chrono::milliseconds lease) = 0;
  /// Prolongs the lease of a process: it ends `lease` from now. Any connection may do this.
  virtual void renew(const results::RunId& run,
                     std::int64_t member,
                     std::chrono::milliseconds lease) = 0;

  /// Adds items to a stage, in the order in which they are claimed. Those that are there stay.
  virtual void offer(const results::RunId& run, int stage, std::span<const std::string> items) = 0;
  /// Claims the next item of a stage that nobody has whose lease lasts. Absent: there is none now.
  [[nodiscard]] virtual std::optional<WorkClaim> claim(const results::RunId& run, int stage) = 0;
  /// Returns the items of a stage that this process has and that are not done.
  [[nodiscard]] virtual std::vector<WorkClaim> claims(const results::RunId& run, int stage) = 0;
  /// Notes the progress of items. One that this process no longer has is left alone.
  virtual void note(const results::RunId& run,
                    std::span<const std::string> items,
                    WorkProgress progress) = 0;
  /// Counts the items by stage.
  [[nodiscard]] virtual std::map<int, WorkCount> count(const results::RunId& run) const = 0;

 protected:
  SharedWork(SharedWork&&) = default;
  SharedWork& operator=(SharedWork&&) = default;
};

}  // namespace plumb::store
