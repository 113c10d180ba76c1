// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/value_uses.hpp"

#include <algorithm>

namespace plumb::rewrite {
namespace {

bool is_among(std::size_t id, std::span<const std::size_t> ids) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

ValueUses::ValueUses(const model::Graph& graph)
    : graph_(&graph), first_(graph.values.size() + 1, 0), is_output_(graph.values.size(), false) {
  for (const model::Layer& layer : graph.layers) {
    for (const std::optional<model::ValueId>& input : layer.inputs) {
      if (input) {
        ++first_[*input + 1];
      }
    }
  }
  for (std::size_t i = 1; i < first_.size(); ++i) {
    first_[i] += first_[i - 1];
  }
  readers_.resize(first_.back());
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    for (const std::optional<model::ValueId>& input : graph.layers[id].inputs) {
      if (input) {
        readers_[next[*input]++] = id;
      }
    }
  }
  for (const model::ValueId output : graph.outputs) {
    is_output_[output] = true;
  }
}

std::span<const model::LayerId> ValueUses::readers(model::ValueId value) const {
  return std::span(readers_).subspan(first_[value], first_[value + 1] - first_[value]);
}

std::optional<model::LayerId> ValueUses::only_reader(model::ValueId value) const {
  const std::span<const model::LayerId> all = readers(value);
  if (all.size() != 1 || is_output_[value]) {
    return std::nullopt;
  }
  return all.front();
}

/// Returns whether a layer outside reads a value before a place, by itself or through views.
bool ValueUses::read_before(model::ValueId value,
                            model::LayerId place,
                            std::span<const model::LayerId> inside) const {
  std::vector<model::ValueId> same{value};  // by other extents
  for (std::size_t i = 0; i < same.size(); ++i) {
    for (const model::LayerId id : readers(same[i])) {
      if (id > place || is_among(id, inside)) {
        continue;
      }
      const model::Layer& layer = graph_->layers[id];
      if (layer.role != model::Layer::Role::kView) {
        return true;
      }
      same.push_back(layer.outputs.front());
    }
  }
  return false;
}

bool ValueUses::closed(std::span<const model::LayerId> layers,
                       std::span<const model::ValueId> results) const {
  const model::LayerId place = *std::max_element(layers.begin(), layers.end());
  for (const model::LayerId id : layers) {
    for (const model::ValueId output : graph_->layers[id].outputs) {
      if (is_among(output, results)) {
        if (read_before(output, place, layers)) {
          return false;
        }
        continue;
      }
      const std::span<const model::LayerId> all = readers(output);
      if (is_output_[output] || !std::all_of(all.begin(), all.end(), [&](model::LayerId reader) {
            return is_among(reader, layers);
          })) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace plumb::rewrite
