// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "harness/results/json_object.hpp"
#include "harness/results/scenario_result.hpp"

namespace plumb::results {

/// Writes the result of a load.
[[nodiscard]] nlohmann::json to_value(const loadgen::LoadResult& result);
/// Reads it. Throws Error{kUser} that names the field at fault.
[[nodiscard]] loadgen::LoadResult result_from(const JsonObject& object);

/// Writes a peak search, probe by probe.
[[nodiscard]] nlohmann::json to_value(const LoadPeak& peak);
/// Reads it. Throws Error{kUser} that names the field at fault.
[[nodiscard]] LoadPeak peak_from(const JsonObject& object);

}  // namespace plumb::results
