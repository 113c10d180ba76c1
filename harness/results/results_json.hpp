// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "harness/results/engine_choice.hpp"
#include "harness/results/run.hpp"

namespace plumb::results {

/// Writes a result as one line of JSON with sorted names. Times are `*_seconds`, sizes `*_bytes`,
/// moments RFC 3339. Doubles read back the same. Bytes that are not UTF-8 (in a worker's message,
/// say) are replaced.
[[nodiscard]] std::string to_json(const Measurement& row);
[[nodiscard]] std::string to_json(const Environment& environment);
[[nodiscard]] std::string to_json(const RunHeader& header);
[[nodiscard]] std::string to_json(const Calibration& calibration);
[[nodiscard]] std::string to_json(const EngineChoices& choices);
[[nodiscard]] std::string to_json(const Attributes& attributes);
[[nodiscard]] std::string to_json(const Readings& readings);

/// Reads what to_json wrote; unknown names are ignored. Throws Error{kUser} that names the field
/// that is missing, has another type or is out of range.
[[nodiscard]] Measurement measurement_from_json(std::string_view text);
[[nodiscard]] Environment environment_from_json(std::string_view text);
[[nodiscard]] RunHeader run_header_from_json(std::string_view text);
[[nodiscard]] Calibration calibration_from_json(std::string_view text);
[[nodiscard]] EngineChoices engine_choices_from_json(std::string_view text);
[[nodiscard]] Attributes attributes_from_json(std::string_view text);
[[nodiscard]] Readings readings_from_json(std::string_view text);

}  // namespace plumb::results
