// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "harness/results/profile/named_profile.hpp"
#include "harness/session/work/planned_model.hpp"
#include "harness/worker/client/worker_process.hpp"

namespace plumb::session {

/// Executes a model in a worker of its own that samples it, and names the samples. The request's
/// folder exists, and `timeout` is beside its budget. Throws WorkerDied, and Error{kUser} if the
/// model cannot be profiled so. The name of the stack is that of the worker's options.
[[nodiscard]] results::NamedProfile profile_model(const worker::WorkerOptions& options,
                                                  const worker::ProfileRequest& request,
                                                  Seconds timeout,
                                                  const PlannedModel& planned,
                                                  const std::function<bool()>& keep_running);

}  // namespace plumb::session
