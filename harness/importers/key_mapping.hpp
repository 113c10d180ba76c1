// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "harness/model/key/layer_key.hpp"

namespace plumb::importers {

/// Layer that a benchmark of another harness executes.
struct MappedKey {
  model::LayerKey key;
  bool alone = true;  ///< no other benchmark executes it: its time is what a user gets
};

/// Layers by the names of the benchmarks.
using KeyMapping = std::map<std::string, MappedKey>;

/// Reads `{"keys":{"NAME":"LAYER KEY"}}`. Throws Error{kUser} with the name, if the text is no such
/// document, a name cannot be one (check_imported_name()) or a layer key is none. Pure.
[[nodiscard]] KeyMapping read_key_mapping(std::string_view text);

}  // namespace plumb::importers
