// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "harness/session/work/work_item.hpp"

namespace plumb::session {

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
