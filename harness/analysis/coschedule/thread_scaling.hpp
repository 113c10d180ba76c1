// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/result_set.hpp"

namespace plumb::analysis {

/// Hot times of keys with fewer threads than a run has. They come from runs of their own, whose
/// environments equal this run's but for their threads.
class ThreadScaling {
 public:
  /// The most thread counts that one run is set beside.
  static constexpr std::size_t kMaxCounts = 64;

  explicit ThreadScaling(std::size_t processors = 1) : processors_(processors) {}

  /// Adds the rows with `threads` threads. Ignored: no fewer threads than the run has, and what
  /// exceeds kMaxCounts.
  void add(std::size_t threads, std::vector<results::StoredMeasurement> rows);

  /// Returns the threads of the run.
  [[nodiscard]] std::size_t processors() const { return processors_; }
  [[nodiscard]] bool empty() const { return by_threads_.empty(); }
  /// Returns the results with fewer threads, by their number.
  [[nodiscard]] const std::map<std::size_t, ResultSet>& by_threads() const { return by_threads_; }

 private:
  std::size_t processors_;
  std::map<std::size_t, ResultSet> by_threads_;
};

}  // namespace plumb::analysis
