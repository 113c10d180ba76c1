// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "harness/results/run.hpp"

namespace plumb {

/// Writes results as one line of JSON with sorted names, times as `*_seconds`, sizes as `*_bytes`,
/// moments in RFC 3339. Doubles are written so that they read back the same.
/// Text that is not UTF-8 (a worker's message, say) has its bad bytes replaced.
[[nodiscard]] std::string to_json(const Measurement& row);
[[nodiscard]] std::string to_json(const Environment& environment);
[[nodiscard]] std::string to_json(const RunHeader& header);
[[nodiscard]] std::string to_json(const Calibration& calibration);
[[nodiscard]] std::string to_json(const Attributes& attributes);
[[nodiscard]] std::string to_json(const Readings& readings);

/// Read what to_json wrote; unknown names are ignored. Throw Error{kUser} that names the field that
/// is missing, has another type or is out of range.
[[nodiscard]] Measurement measurement_from_json(std::string_view text);
[[nodiscard]] Environment environment_from_json(std::string_view text);
[[nodiscard]] RunHeader run_header_from_json(std::string_view text);
[[nodiscard]] Calibration calibration_from_json(std::string_view text);
[[nodiscard]] Attributes attributes_from_json(std::string_view text);
[[nodiscard]] Readings readings_from_json(std::string_view text);

}  // namespace plumb
