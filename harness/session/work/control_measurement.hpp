// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "harness/results/measurement.hpp"
#include "harness/results/paired_round.hpp"
#include "harness/worker/protocol/worker_service.hpp"

namespace plumb::session {

/// Measures the machine's controls through `measure`, with one request for each. Absent: one of
/// them got no time.
[[nodiscard]] std::optional<results::Controls> measure_controls(
    const std::function<std::vector<results::Measurement>(const worker::MeasureRequest&)>& measure);

/// Finds the first full row with a time. For a request of one variant it is the only one.
[[nodiscard]] std::vector<results::Measurement>::const_iterator first_timed(
    const std::vector<results::Measurement>& rows);

}  // namespace plumb::session
