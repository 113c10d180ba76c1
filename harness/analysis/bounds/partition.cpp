// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/base/error.hpp"
#include "harness/rewrite/match.hpp"

namespace plumb::analysis {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// Cost of a partial partition. Missing times compare first: fewer of them win over a smaller sum.
struct Cost {
  std::size_t missing = 0;
  double seconds = 0.0;

  auto operator<=>(const Cost&) const = default;
};

/// Option that led to a state, and the decision before it.
struct Decision {
  std::size_t option = kNone;
  std::size_t before = kNone;
};

struct Partial {
  Cost cost;
  std::size_t decision = kNone;
};

/// Cheapest partial partition for each set of later layers that are already taken.
using States = std::map<std::vector<model::LayerId>, Partial>;

/// Solver for the layers of one group, by dynamic programming over them in order.
class GroupPartition {
 public:
  GroupPartition(std::span<const ModelPartition::Cover::Option> options,
                 const std::vector<std::vector<std::size_t>>& by_first)
      : options_(options), by_first_(by_first) {}

  /// Adds the options chosen for these layers (ascending) to `cover`.
  void solve(const std::vector<model::LayerId>& layers, ModelPartition::Cover& cover) {
    States states{{{}, {}}};
    for (const model::LayerId layer : layers) {
      States next;
      for (const auto& [taken, partial] : states) {
        advance(layer, taken, partial, next);
      }
      if (next.size() > kMaxPartitionStates) {
        keep_cheapest(next);
        cover.optimal = false;
      }
      states = std::move(next);
    }
    PLUMB_CHECK(states.size() == 1 && states.begin()->first.empty());
    for (std::size_t at = states.begin()->second.decision; at != kNone;
         at = decisions_[at].before) {
      cover.chosen.push_back(decisions_[at].option);
    }
  }

 private:
  void advance(model::LayerId layer,
               const std::vector<model::LayerId>& taken,
               const Partial& partial,
               States& next) {
    if (!taken.empty() && taken.front() == layer) {
      offer(next, {taken.begin() + 1, taken.end()}, partial.cost, partial.decision);
      return;
    }
    for (const std::size_t index : by_first_[layer]) {
      const ModelPartition::Cover::Option& option = options_[index];
      std::vector<model::LayerId> rest(option.layers.begin() + 1, option.layers.end());
      std::vector<model::LayerId> both;
      std::set_union(
          taken.begin(), taken.end(), rest.begin(), rest.end(), std::back_inserter(both));
      if (both.size() != taken.size() + rest.size()) {
        continue;  // takes a layer that is already taken
      }
      Cost cost = partial.cost;
      cost.missing += option.seconds ? 0U : 1U;
      cost.seconds += option.seconds.value_or(Seconds{}).count();
      decisions_.push_back({index, partial.decision});
      offer(next, std::move(both), cost, decisions_.size() - 1);
    }
  }

  static void offer(States& states,
                    std::vector<model::LayerId> taken,
                    Cost cost,
                    std::size_t decision) {
    const auto [at, added] = states.try_emplace(std::move(taken), Partial{cost, decision});
    if (!added && cost < at->second.cost) {
      at->second = {cost, decision};
    }
  }

  /// Drops the most expensive states. The one that took no later layer stays: it can always be
  /// completed.
  static void keep_cheapest(States& states) {
    std::vector<Cost> costs;
    costs.reserve(states.size());
    for (const auto& [taken, partial] : states) {
      costs.push_back(partial.cost);
    }
    std::nth_element(costs.begin(),
                     costs.begin() + static_cast<std::ptrdiff_t>(kMaxPartitionStates),
                     costs.end());
    const Cost limit = costs[kMaxPartitionStates];
    std::erase_if(states, [&](const auto& state) {
      return !state.first.empty() && state.second.cost >= limit;
    });
  }

  std::span<const ModelPartition::Cover::Option> options_;
  const std::vector<std::vector<std::size_t>>& by_first_;
  std::vector<Decision> decisions_;
};

}  // namespace

ModelPartition::Cover cheapest_partition(std::size_t layers,
                                         std::span<const ModelPartition::Cover::Option> all) {
  std::vector<bool> coverable(layers, false);
  for (const ModelPartition::Cover::Option& option : all) {
    if (option.layers.size() == 1) {
      coverable[option.layers.front()] = true;
    }
  }
  std::vector<ModelPartition::Cover::Option> options(all.begin(), all.end());  // without views
  for (ModelPartition::Cover::Option& option : options) {
    std::erase_if(option.layers, [&](model::LayerId layer) { return !coverable[layer]; });
  }
  std::vector<std::vector<std::size_t>> by_first(layers);
  ModelPartition::Cover::LayerGroups groups(layers);
  for (std::size_t i = 0; i < options.size(); ++i) {
    const ModelPartition::Cover::Option& option = options[i];
    if (all[i].layers.size() > 1 && !option.seconds) {
      continue;
    }
    PLUMB_CHECK(!option.layers.empty());
    by_first[option.layers.front()].push_back(i);
    for (const model::LayerId layer : option.layers) {
      groups.join(option.layers.front(), layer);
    }
  }
  std::map<std::size_t, std::vector<model::LayerId>> members;
  for (model::LayerId layer = 0; layer < layers; ++layer) {
    if (coverable[layer]) {
      members[groups.root(layer)].push_back(layer);
    }
    std::stable_sort(by_first[layer].begin(), by_first[layer].end(), [&](auto left, auto right) {
      return options[left].layers.size() < options[right].layers.size();
    });
  }
  ModelPartition::Cover cover;
  for (const auto& [root, group] : members) {
    GroupPartition(options, by_first).solve(group, cover);
  }
  std::sort(cover.chosen.begin(), cover.chosen.end(), [&](std::size_t left, std::size_t right) {
    return options[left].layers.back() < options[right].layers.back();
  });
  return cover;
}

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

ModelPartition::Cover::CriticalPath shortest_critical_path(
    const model::Graph& graph,
    std::span<const ModelPartition::Cover::Option> options,
    const ModelPartition::Cover& cover) {
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
      const ModelPartition::Cover::Option& option = options[index];
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
  ModelPartition::Cover::CriticalPath path;
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
