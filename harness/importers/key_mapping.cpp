// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/key_mapping.hpp"

#include <fmt/format.h>

#include "harness/base/error.hpp"
#include "harness/importers/imported_results.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/json_object.hpp"

namespace plumb::importers {

KeyMapping read_key_mapping(std::string_view text) {
  const nlohmann::json document = results::parse_json(text);
  KeyMapping mapping;
  std::map<model::LayerKey, std::size_t> uses;
  for (const auto& [name, key] : results::JsonObject(document).facts("keys")) {
    try {
      check_imported_name(name);
      MappedKey& layer = mapping[name];
      layer.key = model::to_key(model::parse_key({key}));
      ++uses[layer.key];
    } catch (const Error& error) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'{}': {}", name.substr(0, kMaxImportedName), error.what()));
    }
  }
  if (mapping.empty()) {
    throw Error(Error::Kind::kUser, "field 'keys' maps no name to a layer key");
  }
  for (auto& [name, layer] : mapping) {
    layer.alone = uses.at(layer.key) == 1;
  }
  return mapping;
}

}  // namespace plumb::importers
