// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "harness/results/json_object.hpp"
#include "harness/results/paired_round.hpp"

namespace plumb::results {

std::string to_json(const Controls& controls) {
  nlohmann::json document{{"floor_seconds", controls.floor.count()},
                          {"product_seconds", controls.product.count()},
                          {"copy_seconds", controls.copy.count()}};
  if (!controls.host.empty()) {
    document["host"] = controls.host;
  }
  return document.dump();
}

Controls controls_from_json(std::string_view json) {
  const nlohmann::json document = parse_json(json);
  const JsonObject object(document);
  return {object.seconds("floor_seconds"),
          object.seconds("product_seconds"),
          object.seconds("copy_seconds"),
          object.text_or_empty("host")};
}

}  // namespace plumb::results
