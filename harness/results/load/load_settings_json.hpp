// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "harness/loadgen/load_settings.hpp"
#include "harness/results/json_object.hpp"

namespace plumb {

/// Writes a load as requested.
[[nodiscard]] nlohmann::json to_value(const RequestedLoad& load);
/// Reads it. Throws Error{kUser} that names the field at fault.
[[nodiscard]] RequestedLoad requested_from(const JsonObject& object);

/// Writes a load as executed, with all defaults explicit.
[[nodiscard]] nlohmann::json to_value(const EffectiveLoad& load);
/// Reads it. Throws Error{kUser} that names the field at fault.
[[nodiscard]] EffectiveLoad effective_from(const JsonObject& object);

}  // namespace plumb
