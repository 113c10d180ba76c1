// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plumb::worker {

/// Fact of a worker whose threads can be sampled while it executes a model
/// (WorkerService::profile()): what is sampled. Absent: nothing can be.
inline constexpr const char* kSamplingFact = "measure.sampling";

}  // namespace plumb::worker
