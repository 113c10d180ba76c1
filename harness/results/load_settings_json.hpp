// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "harness/results/json_object.hpp"
#include "harness/scenario/load_settings.hpp"

namespace plumb {

/// Writes what was asked of a load.
[[nodiscard]] nlohmann::json to_value(const RequestedLoad& load);
/// Reads it. Throws Error{kUser} that names the field at fault.
[[nodiscard]] RequestedLoad requested_from(const JsonObject& object);

/// Writes what a load was executed with, all defaults explicit.
[[nodiscard]] nlohmann::json to_value(const EffectiveLoad& load);
/// Reads it. Throws Error{kUser} that names the field at fault.
[[nodiscard]] EffectiveLoad effective_from(const JsonObject& object);

}  // namespace plumb
