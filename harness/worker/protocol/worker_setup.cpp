// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/protocol/worker_setup.hpp"

namespace plumb::worker {

std::map<std::string, std::string> thread_variables(int threads) {
  std::map<std::string, std::string> variables{{"OMP_NUM_THREADS", std::to_string(threads)},
                                               {"OMP_DYNAMIC", "false"}};
  if (threads > 1) {
    // One thread per core. A single thread is left to the scheduler, which knows the idle core.
    variables["OMP_PROC_BIND"] = "close";
    variables["OMP_PLACES"] = "cores";
  }
  return variables;
}

}  // namespace plumb::worker
