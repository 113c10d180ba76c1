// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <vector>

#include "harness/worker/protocol/step_mark.hpp"
#include "runners/engine/profile/sample_source.hpp"

namespace plumb::engine {

/// Opens a source of samples that the kernel takes of each of the threads (perf_event_open).
///
/// The kernel writes address and time into a ring of its own, without a signal. `step` keeps when
/// steps begin, and the two are joined by time. Each start uses the next of a few periods, which
/// are drawn within ±25 %. Throws Error{kEnvironment} with the system's reason.
[[nodiscard]] std::unique_ptr<SampleSource> open_kernel_samples(results::SamplingClock clock,
                                                                const std::vector<pid_t>& threads,
                                                                const SamplerOptions& options,
                                                                worker::StepMark& step);

}  // namespace plumb::engine
