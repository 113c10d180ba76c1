// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

namespace plumb::stand_in {

/// One use of the driver that its manual forbids or leaves undefined, and that a real driver need
/// not report.
struct Finding {
  std::string rule;  ///< "race", "leak", "use-after-free" …
  std::string text;
};

/// List of what was found. Any thread may add to it.
class Findings {
 public:
  void add(const std::string& rule, const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (list_.size() < kMaxFindings) {
      list_.push_back({rule, text});
      std::fprintf(stderr, "CUDA stand-in: %s: %s\n", rule.c_str(), text.c_str());
    }
  }
  [[nodiscard]] std::vector<Finding> list() const {
    const std::lock_guard lock(mutex_);
    return list_;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    list_.clear();
  }

 private:
  static constexpr std::size_t kMaxFindings = 200;  // one mistake may show at every launch

  mutable std::mutex mutex_;
  std::vector<Finding> list_;
};

}  // namespace plumb::stand_in
