// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/coschedule/thread_scaling.hpp"

namespace plumb::analysis {

void ThreadScaling::add(std::size_t threads, std::vector<results::StoredMeasurement> rows) {
  if (threads > 0 && threads < processors_ && !rows.empty() && by_threads_.size() < kMaxCounts) {
    by_threads_.try_emplace(threads, std::move(rows));
  }
}

}  // namespace plumb::analysis
