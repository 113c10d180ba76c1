// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/loadgen/batch_queue.hpp"
#include "harness/loadgen/load_settings.hpp"
#include "harness/results/scenario_result.hpp"
#include "harness/worker/protocol/execute_request.hpp"

namespace plumb::worker {

/// Request to load one whole model by a scenario.
struct LoadRequest {
  /// Model for batches of `samples` samples.
  struct Bucket {
    std::size_t samples = 1;
    ExecuteRequest model;
  };

  std::vector<Bucket> buckets;  ///< ascending; the first is of one sample
  std::int64_t inputs_per_sample = 1;
  loadgen::RequestedLoad load;  ///< performance mode; the worker chooses the data set
  loadgen::BatchPolicy batches{.maximum_batch = 1, .timeout = {}, .lanes = 1};
  std::optional<Seconds> budget;  ///< of the load, searches and confirmations included
  std::uint64_t data_set = 1024;  ///< samples of the data set, but at least two batches per lane
  /// Path of MLPerf's accuracy log, which the worker writes. After the load every sample of the
  /// data set is queried once, and each answer compared. Empty: no log.
  std::filesystem::path accuracy_log;
};

/// Returns a result with what was requested, before the load begins.
[[nodiscard]] results::ScenarioResult begin_load(const LoadRequest& request);

/// Progress of a load.
struct LoadProgress {
  std::string phase;          ///< "preparing batches of 8", "running"
  std::uint64_t batches = 0;  ///< executed so far, warm-up and probes included
  Seconds elapsed{};
};

/// Receiver of progress, about once a second. It is called from any thread, but never from two at
/// once.
using LoadReport = std::function<void(const LoadProgress&)>;

}  // namespace plumb::worker
