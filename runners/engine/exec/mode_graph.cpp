// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/mode_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/rewrite/gradient/checkpointed_graph.hpp"
#include "harness/rewrite/gradient/folded_norms.hpp"
#include "harness/rewrite/quantized_graph.hpp"
#include "harness/rewrite/types/typed_graph.hpp"

namespace plumb::engine {
namespace {

/// Cache of whether a backend executes a key by more than reference code.
class Support {
 public:
  explicit Support(const worker::Backend& backend) : backend_(backend) {}

  bool has(const model::LayerKey& key) {
    const auto [at, added] = known_.try_emplace(key, false);
    if (added) {
      const std::vector<worker::Variant> variants = backend_.variants(key);
      at->second =
          std::any_of(variants.begin(), variants.end(), [](const worker::Variant& variant) {
            return !variant.reference_implementation;
          });
    }
    return at->second;
  }

 private:
  const worker::Backend& backend_;
  std::unordered_map<model::LayerKey, bool> known_;
};

/// Finds the matches that the steps name. A step of one layer is no match.
std::vector<rewrite::Match> named_matches(const model::Graph& graph,
                                          const std::vector<worker::ModeRequest::Step>& steps,
                                          std::string_view family) {
  std::map<std::pair<std::vector<model::LayerId>, model::LayerKey>, rewrite::Match> by_layers;
  for (rewrite::Match& match : rewrite::matches(graph, family)) {
    std::pair name(match.layers, match.key);
    by_layers.try_emplace(std::move(name), std::move(match));
  }
  std::vector<rewrite::Match> result;
  for (const worker::ModeRequest::Step& step : steps) {
    const auto match = by_layers.find({step.layers, step.key});
    if (match != by_layers.end()) {
      result.push_back(match->second);
      continue;
    }
    if (step.layers.size() != 1 || step.layers.front() >= graph.layers.size() ||
        graph.layers[step.layers.front()].key != step.key) {
      throw Error(Error::Kind::kUser,
                  fmt::format("no layers of this model become '{}', as the request says: the model "
                              "differs from the one that was measured",
                              step.key.text));
    }
  }
  return result;
}

/// Throws Error{kUser} that says why a backend joins no layers of a family of fusions.
[[noreturn]] void refuse_family(const model::Graph& graph,
                                std::string_view family,
                                const worker::Backend& backend) {
  const std::vector<rewrite::Match> found = rewrite::matches(graph, family);
  if (found.empty()) {
    throw Error(Error::Kind::kUser,
                fmt::format("'{}' has no layers that the mode {} joins, which is one for steps of "
                            "training",
                            graph.name,
                            family));
  }
  const rewrite::Match& first = found.front();
  const results::Outcome support = backend.supports(first.key);
  throw Error(Error::Kind::kUser,
              fmt::format("no layers are joined: not {} with {}, the first of {} places: {}",
                          graph.layers[first.layers.front()].name,
                          graph.layers[first.layers.back()].name,
                          found.size(),
                          support.ok() ? "there is only reference code" : support.reason));
}

/// Lists the values whose magnitudes set the scales of activations.
std::vector<model::ValueId> observed_values(const model::Graph& graph,
                                            const rewrite::FusedGraph::Quantization& quantization) {
  std::vector<model::ValueId> values;
  for (const rewrite::FusedGraph::ActivationGrid& grid : quantization.activations) {
    std::copy_if(
        grid.of.begin(), grid.of.end(), std::back_inserter(values), [&](model::ValueId value) {
          return graph.values[value].producer.has_value();  // magnitudes of inputs are known
        });
  }
  return values;
}

worker::LayerVariants channels_last_variants(const model::Graph& graph,
                                             const worker::Backend& backend) {
  worker::LayerVariants result;
  std::set<std::string> seen;
  for (const model::Layer& layer : graph.layers) {
    if (layer.role != model::Layer::Role::kCompute || !seen.insert(layer.key.text).second) {
      continue;
    }
    const std::vector<worker::Variant> variants = backend.variants(layer.key);
    const auto first =
        std::find_if(variants.begin(), variants.end(), [](const worker::Variant& variant) {
          return variant.channels_last && !variant.reference_implementation;
        });
    if (first != variants.end()) {
      result.emplace(layer.key, first->text);
    }
  }
  return result;
}

/// Names the layers of the graph before by those of the graph that it was made of.
void trace_back(const std::vector<model::LayerId>& origins, rewrite::FusedGraph& fused) {
  for (std::vector<model::LayerId>& layers : fused.origins) {
    for (model::LayerId& layer : layers) {
      layer = origins.at(layer);
    }
    std::sort(layers.begin(), layers.end());
  }
}

/// Throws Error{kUser} if a step of training does not fit under a cap.
void require_fit(const model::Graph& step, std::optional<Bytes> memory_cap) {
  if (const auto smallest = rewrite::smallest_step(step)) {
    throw Error(
        Error::Kind::kUser,
        fmt::format("a step of '{}' that computes values again takes {} bytes at least, and "
                    "its cap is {}",
                    step.name,
                    model::compute_memory(smallest->graph).total().value,
                    memory_cap.value_or(Bytes{}).value));
  }
}

}  // namespace

ModeGraph graph_of_mode(const model::Graph& graph,
                        const worker::ModeRequest& request,
                        const worker::Backend& backend,
                        std::optional<Bytes> memory_cap) {
  // 8 bits come after fusion, with values of their own to observe.
  model::Graph typed = request.mode.int8 || request.mode.other_type().empty()
                           ? graph
                           : rewrite::typed_graph(graph, request.mode.other_type());
  ModeGraph result;
  std::optional<std::vector<model::LayerId>> origins;  // of a step's layers, if it is another one
  if (request.mode.checkpointing) {
    std::optional<rewrite::TrainingStep::Rewritten> small =
        memory_cap ? rewrite::step_within(typed, *memory_cap) : rewrite::smallest_step(typed);
    if (!small) {
      require_fit(typed, memory_cap);
      throw Error(Error::Kind::kUser,
                  fmt::format("'{}' is no step of training, so nothing is kept that could be "
                              "computed again: give --training",
                              graph.name));
    }
    typed = std::move(small->graph);
    origins = std::move(small->origins);
  }
  if (request.mode.folded_norms) {
    std::optional<rewrite::TrainingStep::Rewritten> folded = rewrite::folded_norms(typed);
    if (!folded) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'{}' is no step of training with frozen batch normalisations behind "
                              "convolutions: give --training and --freeze batch_norm",
                              graph.name));
    }
    typed = std::move(folded->graph);
    origins = std::move(folded->origins);
  }
  if (backend.plans_models()) {
    result.fused = rewrite::fused_graph(typed, {});
    return result;
  }
  std::vector<rewrite::Match> chosen;
  const std::string_view family = request.mode.fusion_family();
  if (request.mode.best_variant && !request.mode.int8) {
    chosen = named_matches(typed, request.steps, family);
  } else if (request.mode.fuses()) {
    Support support(backend);
    chosen = rewrite::largest_matches(
        typed, [&](const rewrite::Match& match) { return support.has(match.key); }, family);
    if (chosen.empty() && !family.empty()) {
      refuse_family(typed, family, backend);
    }
  }
  result.fused = rewrite::fused_graph(typed, chosen);
  if (origins) {
    trace_back(*origins, result.fused);
  }
  if (request.mode.int8) {
    result.observed = std::move(result.fused);
    result.fused = rewrite::quantized_graph(*result.observed);
    result.observed->graph.outputs =
        observed_values(result.observed->graph, result.fused.quantization);
    if (result.observed->graph.outputs.empty()) {
      result.observed.reset();
    }
  }
  if (request.mode.channels_last) {
    result.variants = channels_last_variants(result.fused.graph, backend);
  }
  return result;
}

}  // namespace plumb::engine
