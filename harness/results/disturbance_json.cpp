// SPDX-License-Identifier: Apache-2.0
#include "harness/results/disturbance_json.hpp"

namespace plumb::results {
nlohmann::json disturbance_json(const measure::Disturbance& disturbance) {
  return {{"involuntary_switches", disturbance.involuntary_switches},
          {"steal_ratio", or_null(disturbance.steal_ratio)},
          {"load", or_null(disturbance.load)},
          {"pressure_ratio", or_null(disturbance.pressure_ratio)},
          {"disturbed", disturbance.disturbed}};
}

measure::Disturbance disturbance_from(const JsonObject& object) {
  measure::Disturbance disturbance;
  disturbance.involuntary_switches =
      object.integer("involuntary_switches", 0, JsonObject::kHighest);
  disturbance.steal_ratio = object.optional_number("steal_ratio");
  disturbance.load = object.optional_number("load");
  disturbance.pressure_ratio = object.optional_number("pressure_ratio");
  disturbance.disturbed = object.boolean("disturbed");
  return disturbance;
}

}  // namespace plumb::results
