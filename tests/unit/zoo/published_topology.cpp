// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/zoo/published_topology.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace plumb::zoo {
namespace {

PublishedNode node_of(const std::string& word) {
  const std::size_t colon = word.find(':');
  PublishedNode node{.layer = std::stoul(word.substr(0, colon)), .producers = {1}};
  if (colon != std::string::npos) {
    node.producers.clear();
    std::istringstream distances(word.substr(colon + 1));
    for (std::string distance; std::getline(distances, distance, '.');) {
      node.producers.push_back(std::stoul(distance));
    }
  }
  return node;
}

}  // namespace

PublishedTopology read_topology(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) {
    throw std::runtime_error("cannot read " + path.string());
  }
  PublishedTopology topology;
  std::vector<PublishedNode>* model = nullptr;
  for (std::string line; std::getline(file, line);) {
    const std::string rest = line.size() > 2 ? line.substr(2) : "";
    if (line.starts_with('=')) {
      topology.layers.push_back({rest, rest});
    } else if (line.starts_with('!')) {
      topology.layers.back().corrected = rest;
    } else if (line.starts_with('@')) {
      model = &topology.models[rest];
    } else if (!line.starts_with('#')) {
      std::istringstream words(line);
      for (std::string word; words >> word;) {
        model->push_back(node_of(word));
      }
    }
  }
  return topology;
}

}  // namespace plumb::zoo
