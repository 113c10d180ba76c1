// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/results/measurement.hpp"
#include "harness/worker/client/worker_process.hpp"

namespace plumb::session {

/// Executes the variants of timed rows of one key once more, under the device's profiler. A worker
/// of its own does so, and what the profiler shows is added to the rows' attributes and readings.
/// The rows' times stay as they are, and an attribute that is "unknown" replaces nothing. At most
/// 16 variants are executed: the library's choice and the fastest. If this fails, the reason is
/// logged, and rows keep it as the attribute "kernels_missing".
void look_at_kernels(worker::WorkerOptions settings,
                     Seconds timeout,
                     std::vector<results::Measurement>& rows);

/// Executes variants once more, as look_at_kernels() does, and adds the device's counters.
/// `metrics` has their names (parse_metric_names()); none stand for the backend's own choice. The
/// attribute "metrics_missing" states what is missing.
void look_at_counters(worker::WorkerOptions settings,
                      Seconds timeout,
                      std::vector<std::string> metrics,
                      std::vector<results::Measurement>& rows);

/// Adds to timed rows the reason why there are no counters, and logs it.
void miss_counters(const std::string& reason, std::vector<results::Measurement>& rows);

}  // namespace plumb::session
