// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "harness/model/key/layer_key.hpp"

namespace plumb::suite {

/// One `[[layers]]` table of a shapes file.
struct ShapesRow {
  int line = 0;
  model::LayerKey key;     ///< canonical: parsed and written again
  std::int64_t count = 1;  ///< occurrences
};

/// Reads a shapes file: `[[layers]]` tables with a `key` and, if not 1, a `count`. Throws
/// Error{kUser} with file and line for anything else, and for a key that does not parse.
[[nodiscard]] std::vector<ShapesRow> read_shapes(const std::filesystem::path& file);

}  // namespace plumb::suite
