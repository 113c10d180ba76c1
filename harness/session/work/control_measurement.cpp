// SPDX-License-Identifier: Apache-2.0
#include "harness/session/work/control_measurement.hpp"

#include <algorithm>

namespace plumb {

std::optional<Controls> measure_controls(
    const std::function<std::vector<Measurement>(const MeasureRequest&)>& measure) {
  Controls controls;
  for (const ControlTime& control : kControlTimes) {
    MeasureRequest request;
    request.key.text = control.key;
    const std::vector<Measurement> rows = measure(request);
    const auto row = first_timed(rows);
    if (row == rows.end()) {
      return std::nullopt;
    }
    controls.*control.time = row->summary.median;
  }
  return controls;
}

std::vector<Measurement>::const_iterator first_timed(const std::vector<Measurement>& rows) {
  return std::find_if(rows.begin(), rows.end(), [](const Measurement& row) {
    return row.purpose == Purpose::kFull && row.outcome.timed();
  });
}

}  // namespace plumb
