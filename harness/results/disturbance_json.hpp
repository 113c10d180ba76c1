// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "harness/measure/disturbance.hpp"
#include "harness/results/json_object.hpp"

namespace plumb {

/// Writes a disturbance as an object. For .cpp files only, as json_object.hpp.
[[nodiscard]] nlohmann::json disturbance_json(const Disturbance& disturbance);
/// Reads what disturbance_json() wrote. Throws Error{kUser} that names the field at fault.
[[nodiscard]] Disturbance disturbance_from(const JsonObject& object);

}  // namespace plumb
