// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/base/units.hpp"
#include "harness/results/measurement.hpp"

namespace plumb {

/// Is what came of executing one whole model end to end once, in one worker process.
struct Execution {
  std::string mode;                        ///< "plain"
  std::string scenario = "single_stream";  ///< one query after the other
  Measurement
      row;  ///< outcome, samples, summary, floor, output hash, disturbance…; key: "model:NAME"
  Bytes memory;               ///< weights, inputs and everything between, in the layouts executed
  std::int64_t reorders = 0;  ///< changes of layout in each execution
};

/// Writes an execution as the store keeps it: JSON, raw samples included.
[[nodiscard]] std::string to_json(const Execution& execution);
/// Reads what to_json wrote. Throws Error{kUser} that names the field at fault.
[[nodiscard]] Execution execution_from_json(std::string_view json);

}  // namespace plumb
