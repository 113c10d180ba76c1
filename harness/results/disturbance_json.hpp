// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "harness/measure/disturbance.hpp"
#include "harness/results/json_object.hpp"

namespace plumb::results {

/// Writes a disturbance as an object. For .cpp files only, as json_object.hpp.
[[nodiscard]] nlohmann::json disturbance_json(const measure::Disturbance& disturbance);
/// Reads what disturbance_json() wrote. Throws Error{kUser} that names the field at fault.
[[nodiscard]] measure::Disturbance disturbance_from(const JsonObject& object);

}  // namespace plumb::results
