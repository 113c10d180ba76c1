// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/results/measurement.hpp"
#include "harness/worker/worker_process.hpp"

namespace plumb {

/// Executes the variants of timed rows of one key once more, in a worker of their own under the
/// device's profiler, and adds what that shows to the rows' attributes and readings. Nothing of the
/// rows' times changes, and what the look leaves "unknown" replaces nothing. Of many variants the
/// fastest and the library's choice. Where it fails the reason is logged, and rows keep it as the
/// attribute "kernels_missing".
void look_at_kernels(WorkerOptions settings, Seconds timeout, std::vector<Measurement>& rows);

/// Does the same with the device's counters, of which it asks the metrics of these names
/// (parse_metric_names(), or kDefaultMetrics). What is missing is told by "metrics_missing".
void look_at_counters(WorkerOptions settings,
                      Seconds timeout,
                      const std::string& metrics,
                      std::vector<Measurement>& rows);

/// Tells timed rows why there are no counters to look at, and logs it.
void miss_counters(const std::string& reason, std::vector<Measurement>& rows);

}  // namespace plumb
