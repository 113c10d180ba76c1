// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/critical_path.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "harness/base/error.hpp"
#include "harness/rewrite/value_uses.hpp"

namespace plumb::analysis {
namespace {

/// Finish time of a layer's results, the option that computes them, and the last layer waited for.
struct Finish {
  double seconds = std::numeric_limits<double>::infinity();
  std::optional<std::size_t> option;  ///< absent: nothing is executed (a view)
  std::optional<model::LayerId> waited_for;
};

/// Returns the layer outside `inside` whose finish the layers wait for last. Of equal ones, the
/// first.
std::optional<model::LayerId> last_awaited(const model::Graph& graph,
                                           std::span<const model::LayerId> inside,
                                           const std::vector<Finish>& finishes) {
  std::optional<model::LayerId> last;
  for (const model::LayerId layer : inside) {
    for (const std::optional<model::ValueId>& input : graph.layers[layer].inputs) {
      if (!input || !graph.values[*input].producer) {
        continue;
      }
      const model::LayerId producer = *graph.values[*input].producer;
      if (std::find(inside.begin(), inside.end(), producer) != inside.end()) {
        continue;
      }
      if (!last || finishes[producer].seconds > finishes[*last].seconds) {
        last = producer;
      }
    }
  }
  return last;
}

/// Returns whether a layer outside `inside` reads a result of a layer.
bool is_read_outside(const rewrite::ValueUses& uses,
                     const model::Layer& layer,
                     std::span<const model::LayerId> inside) {
  return std::any_of(layer.outputs.begin(), layer.outputs.end(), [&](model::ValueId output) {
    const std::span<const model::LayerId> readers = uses.readers(output);
    return std::any_of(readers.begin(), readers.end(), [&](model::LayerId reader) {
      return std::find(inside.begin(), inside.end(), reader) == inside.end();
    });
  });
}

/// Lists the layers whose results no other layer reads, or that the model returns.
std::vector<model::LayerId> sinks(const model::Graph& graph) {
  std::vector<bool> read(graph.layers.size(), false);
  for (const model::Layer& layer : graph.layers) {
    for (const std::optional<model::ValueId>& input : layer.inputs) {
      if (input && graph.values[*input].producer) {
        read[*graph.values[*input].producer] = true;
      }
    }
  }
  for (const model::ValueId output : graph.outputs) {
    if (graph.values[output].producer) {
      read[*graph.values[output].producer] = false;
    }
  }
  std::vector<model::LayerId> result;
  for (model::LayerId layer = 0; layer < read.size(); ++layer) {
    if (!read[layer]) {
      result.push_back(layer);
    }
  }
  return result;
}

}  // namespace

CriticalPath shortest_critical_path(const model::Graph& graph,
                                    std::span<const PartitionOption> options,
                                    const Partition& cover) {
  std::vector<bool> free(options.size(), false);
  for (const std::size_t index : cover.chosen) {
    free[index] = true;
  }
  std::vector<std::vector<std::size_t>> by_last(graph.layers.size());
  for (std::size_t i = 0; i < options.size(); ++i) {
    by_last[options[i].layers.back()].push_back(i);
  }
  const std::vector<model::LayerId> ends = sinks(graph);
  std::vector<bool> is_sink(graph.layers.size(), false);
  for (const model::LayerId sink : ends) {
    is_sink[sink] = true;
  }
  const rewrite::ValueUses uses(graph);
  std::vector<Finish> finishes(graph.layers.size());
  const auto pass = [&](model::LayerId view) {
    const std::optional<model::LayerId> last = last_awaited(graph, std::span(&view, 1), finishes);
    finishes[view] = {last ? finishes[*last].seconds : 0.0, std::nullopt, last};
  };
  for (model::LayerId layer = 0; layer < graph.layers.size(); ++layer) {
    if (by_last[layer].empty()) {
      pass(layer);
    }
    for (const std::size_t index : by_last[layer]) {
      const PartitionOption& option = options[index];
      // Unmeasured options cost nothing, so the path with the fewest measurements would be the
      // shortest.
      if (!option.seconds && !free[index]) {
        continue;
      }
      const std::optional<model::LayerId> last = last_awaited(graph, option.layers, finishes);
      const double begin = last ? finishes[*last].seconds : 0.0;
      const double end = begin + option.seconds.value_or(Seconds{}).count();
      // A joint option may make several results, such as the gradients of weights and bias. All are
      // there when it ends.
      for (const model::LayerId made : option.layers) {
        const bool result =
            is_sink[made] || is_read_outside(uses, graph.layers[made], option.layers);
        if (result && end < finishes[made].seconds) {
          finishes[made] = {end, index, last};
        }
      }
      // Views of a result may stand before the last layer that makes it.
      for (model::LayerId view = option.layers.front(); view < layer; ++view) {
        if (by_last[view].empty()) {
          pass(view);
        }
      }
    }
  }
  CriticalPath path;
  std::optional<model::LayerId> at;
  for (const model::LayerId sink : ends) {
    if (!at || finishes[sink].seconds > finishes[*at].seconds) {
      at = sink;
    }
  }
  if (at) {
    PLUMB_CHECK(finishes[*at].seconds < std::numeric_limits<double>::infinity());
    path.length = Seconds(finishes[*at].seconds);
  }
  for (; at; at = finishes[*at].waited_for) {
    if (finishes[*at].option) {
      path.options.push_back(*finishes[*at].option);
    }
  }
  std::reverse(path.options.begin(), path.options.end());
  return path;
}

}  // namespace plumb::analysis
