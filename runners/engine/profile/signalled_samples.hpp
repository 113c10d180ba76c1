// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <vector>

#include "harness/worker/protocol/step_mark.hpp"
#include "runners/engine/profile/sample_source.hpp"

namespace plumb::engine {

/// Opens a source of samples that a signal (SIGPROF) takes on each of the threads: by a timer of
/// the thread, or by a further thread on another processor (SignalSender).
///
/// The handler writes address and step into the thread's ring. It runs on an alternate stack, which
/// each thread gets here, while no thread executes the program. A thread that blocks the signal has
/// no samples, and no sample has a chain of calls. There is at most one such source at a time.
/// Throws Error{kEnvironment} with the system's reason.
[[nodiscard]] std::unique_ptr<SampleSource> open_signalled_samples(
    results::SamplingClock clock,
    const std::vector<pid_t>& threads,
    const SamplerOptions& options,
    const worker::StepMark& step);

}  // namespace plumb::engine
