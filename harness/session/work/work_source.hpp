// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/key/layer_key.hpp"
#include "harness/results/measurement.hpp"

namespace plumb::session {

/// One key to measure once, however often it occurs.
struct WorkItem {
  model::LayerKey key;
  std::int64_t occurrences = 0;  ///< in all models and listed layers of the suite
  double weight = 0.0;  ///< MACs × occurrences; bytes moved ÷ 1000 where there are no MACs
  std::vector<results::CacheMode> caches;  ///< still to be measured
};

/// One key whose fastest variants are measured again in a fresh process.
struct Confirmation {
  model::LayerKey key;
  std::vector<results::CacheMode> caches;
  std::vector<std::string> variants;  ///< the fastest few and the library's own choice
};

/// Source of the items that an executor measures, one by one.
class WorkSource {
 public:
  WorkSource() = default;
  virtual ~WorkSource() = default;
  WorkSource(const WorkSource&) = delete;
  WorkSource& operator=(const WorkSource&) = delete;
  WorkSource(WorkSource&&) = delete;
  WorkSource& operator=(WorkSource&&) = delete;

  /// Returns the items that next() may still return, for the progress that is shown.
  [[nodiscard]] virtual const std::vector<WorkItem>& items() const = 0;
  /// Returns the next item. Absent: there is none.
  [[nodiscard]] virtual std::optional<WorkItem> next() = 0;
};

/// Source of all items of a list, in its order.
class WorkList final : public WorkSource {
 public:
  explicit WorkList(std::vector<WorkItem> items) : items_(std::move(items)) {}

  [[nodiscard]] const std::vector<WorkItem>& items() const override { return items_; }
  [[nodiscard]] std::optional<WorkItem> next() override {
    return next_ < items_.size() ? std::optional(items_[next_++]) : std::nullopt;
  }

 private:
  std::vector<WorkItem> items_;
  std::size_t next_ = 0;
};

}  // namespace plumb::session
