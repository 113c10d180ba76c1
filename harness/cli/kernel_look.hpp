// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/results/measurement.hpp"
#include "harness/worker/worker_process.hpp"

namespace plumb {

/// Executes the variants of timed rows of one key once more, in a worker of their own under the
/// device's profiler, and adds what that shows to the rows' attributes and readings. Nothing of the
/// rows' times changes. Of many variants the fastest and the library's choice. Where it fails the
/// reason is logged, and rows keep it as the attribute "kernels_missing".
void look_at_kernels(WorkerOptions settings, Seconds timeout, std::vector<Measurement>& rows);

}  // namespace plumb
