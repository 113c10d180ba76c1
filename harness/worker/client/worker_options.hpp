// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/results/host_pace.hpp"
#include "harness/worker/protocol/stack.hpp"
#include "harness/worker/protocol/worker_setup.hpp"

namespace plumb::worker {

/// Options for starting a worker.
struct WorkerOptions {
  Stack stack;
  WorkerSetup setup;  ///< without the stack's libraries, which the start adds
  std::vector<std::filesystem::path>
      search_path;  ///< where plumb-worker-BACKEND may lie, first wins
  /// Fastest pace of the host in all rows so far, passed on with each request. All processes that
  /// are started with copies of these options share it.
  std::shared_ptr<results::FastestPace> pace = std::make_shared<results::FastestPace>();
  Seconds start_timeout{120.0};    ///< libraries of half a gigabyte may come from a slow disk
  Seconds request_timeout{120.0};  ///< for describe, variants, calibrate, preview and reproduce
};

}  // namespace plumb::worker
