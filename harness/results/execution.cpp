// SPDX-License-Identifier: Apache-2.0
#include "harness/results/execution.hpp"

#include "harness/results/json_object.hpp"
#include "harness/results/results_json.hpp"

namespace plumb {

std::string to_json(const Execution& execution) {
  return nlohmann::json{{"mode", execution.mode},
                        {"scenario", execution.scenario},
                        {"memory_bytes", execution.memory.value},
                        {"reorders", execution.reorders},
                        {"row", nlohmann::json::parse(to_json(execution.row))}}
      .dump();
}

Execution execution_from_json(std::string_view text) {
  const nlohmann::json value = parse_json(text);
  const JsonObject object(value);
  Execution execution;
  execution.mode = object.text("mode");
  execution.scenario = object.text("scenario");
  execution.memory.value = object.integer("memory_bytes", 0, JsonObject::kHighest);
  execution.reorders = object.integer("reorders", 0, JsonObject::kHighest);
  static_cast<void>(object.object("row"));  // is there, and an object
  execution.row = measurement_from_json(value.at("row").dump());
  return execution;
}

}  // namespace plumb
