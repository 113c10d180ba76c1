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

/// Executes variants once more, as look_at_kernels() does, and adds the device's counters. Asks for
/// the metrics of these names (parse_metric_names(), or kDefaultMetrics). The attribute
/// "metrics_missing" states what is missing.
void look_at_counters(WorkerOptions settings,
                      Seconds timeout,
                      const std::string& metrics,
                      std::vector<Measurement>& rows);

/// Adds to timed rows the reason why there are no counters to look at, and logs it.
void miss_counters(const std::string& reason, std::vector<Measurement>& rows);

}  // namespace plumb
