// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/client/worker_died.hpp"

#include <fmt/core.h>

namespace plumb::worker {

Error lost_worker(const WorkerDied& death, const std::string& what) {
  return {Error::Kind::kEnvironment,
          fmt::format("the worker was lost while {}: {}; check that nothing kills it, that memory "
                      "is free and that --row-timeout is long enough, then try again",
                      what,
                      death.outcome().reason)};
}

}  // namespace plumb::worker
