// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace plumb::zoo {

/// One node of a published model.
struct PublishedNode {
  std::size_t layer = 0;               ///< in PublishedTopology::layers
  std::vector<std::size_t> producers;  ///< how many nodes back each input is made; 0: not by a node
};

/// One layer of Benanza's dump: "TYPE SHAPE... > SHAPE".
struct PublishedLayer {
  std::string text;       ///< as published
  std::string corrected;  ///< with the shapes that its operator gives; mostly the same
};

/// Content of benanza_topology.txt; its head describes the form.
struct PublishedTopology {
  std::vector<PublishedLayer> layers;
  std::map<std::string, std::vector<PublishedNode>> models;
};

/// Reads such a file. Throws std::runtime_error if it cannot be read or is malformed.
[[nodiscard]] PublishedTopology read_topology(const std::filesystem::path& path);

}  // namespace plumb::zoo
