// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "harness/measure/disturbance.hpp"
#include "harness/results/json_object.hpp"

namespace plumb {

/// Writes and reads a disturbance as an object. Only for .cpp files, as json_object.hpp.
[[nodiscard]] nlohmann::json disturbance_json(const Disturbance& disturbance);
[[nodiscard]] Disturbance disturbance_from(const JsonObject& object);

}  // namespace plumb
