// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "harness/loadgen/load_settings.hpp"
#include "harness/results/json_object.hpp"

namespace plumb::results {

/// Writes a load as requested.
[[nodiscard]] nlohmann::json to_value(const loadgen::RequestedLoad& load);
/// Reads it. Throws Error{kUser} that names the field at fault.
[[nodiscard]] loadgen::RequestedLoad requested_from(const JsonObject& object);

/// Writes a load as executed, with all defaults explicit.
[[nodiscard]] nlohmann::json to_value(const loadgen::EffectiveLoad& load);
/// Reads it. Throws Error{kUser} that names the field at fault.
[[nodiscard]] loadgen::EffectiveLoad effective_from(const JsonObject& object);

}  // namespace plumb::results
