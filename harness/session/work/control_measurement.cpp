// SPDX-License-Identifier: Apache-2.0
#include "harness/session/work/control_measurement.hpp"

#include <algorithm>

namespace plumb::session {

std::optional<results::Controls> measure_controls(
    const std::function<std::vector<results::Measurement>(const worker::MeasureRequest&)>&
        measure) {
  results::Controls controls;
  for (const results::ControlTime& control : results::kControlTimes) {
    worker::MeasureRequest request;
    request.key.text = control.key;
    const std::vector<results::Measurement> rows = measure(request);
    const auto row = first_timed(rows);
    if (row == rows.end()) {
      return std::nullopt;
    }
    controls.*control.time = row->summary.median;
  }
  return controls;
}

std::vector<results::Measurement>::const_iterator first_timed(
    const std::vector<results::Measurement>& rows) {
  return std::find_if(rows.begin(), rows.end(), [](const results::Measurement& row) {
    return row.purpose == results::Purpose::kFull && row.outcome.timed();
  });
}

}  // namespace plumb::session
