// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "harness/results/profile/named_profile.hpp"
#include "harness/results/profile/sampled_profile.hpp"
#include "harness/session/work/planned_model.hpp"
#include "harness/worker/client/worker_process.hpp"

namespace plumb::session {

/// Samples of a model's executions, and where the code lies that was made meanwhile.
struct SampledModel {
  results::SampledProfile samples;
  std::vector<std::filesystem::path> dumps;  ///< jitdumps, and perf maps named `.map`
};

/// Executes a model in a worker of its own that samples it. The request's folder exists, and
/// `timeout` is beside its budget. The worker's start counts to the time that the whole may take.
/// Throws WorkerDied, and Error{kUser} if the model cannot be profiled so.
[[nodiscard]] SampledModel sample_model(const worker::WorkerOptions& options,
                                        const worker::ProfileRequest& request,
                                        Seconds timeout,
                                        const std::function<bool()>& keep_running);

/// Names the samples of a planned model in a mode, and lists the hottest code in full.
[[nodiscard]] results::NamedProfile name_profile(const SampledModel& sampled,
                                                 const worker::WorkerOptions& options,
                                                 const results::ExecutionMode& mode,
                                                 const PlannedModel& planned);

/// Samples a model, and names the samples.
[[nodiscard]] results::NamedProfile profile_model(const worker::WorkerOptions& options,
                                                  const worker::ProfileRequest& request,
                                                  Seconds timeout,
                                                  const PlannedModel& planned,
                                                  const std::function<bool()>& keep_running);

}  // namespace plumb::session
