// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/analysis/bounds/hardware_bound.hpp"
#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/model/key/training_layers.hpp"
#include "harness/results/execution.hpp"

namespace plumb::analysis {
namespace {

using results::BoundKind;

struct Order {
  BoundKind lower;
  BoundKind upper;
};

// Pairs of which the first must not exceed the second within one mode. Hardware belongs to every
// mode.
constexpr std::array kOrders = std::to_array<Order>({
    {results::BoundKind::kHardware, results::BoundKind::kLibrary},
    {results::BoundKind::kHardware, results::BoundKind::kPredicted},
    {results::BoundKind::kLibraryParallel, results::BoundKind::kLibrary},
    {results::BoundKind::kLibrary, results::BoundKind::kBenanzaSequential},
    {results::BoundKind::kLibrary, results::BoundKind::kPredicted},
    {results::BoundKind::kHardware, results::BoundKind::kLayerSum},
    {results::BoundKind::kLibrary, results::BoundKind::kLayerSum},
});

void add_order_findings(const ModelBounds& model, std::vector<std::string>& findings) {
  for (const Order& order : kOrders) {
    for (const Bound& lower : model.bounds) {
      for (const Bound& upper : model.bounds) {
        const bool comparable = lower.kind == results::BoundKind::kHardware ||
                                upper.kind == results::BoundKind::kBenanzaSequential ||
                                lower.mode == upper.mode;
        if (lower.kind != order.lower || upper.kind != order.upper || !comparable ||
            !lower.complete || !upper.complete || lower.interval.low <= upper.interval.high) {
          continue;
        }
        findings.push_back(
            fmt::format("{} ({}) at {:.6g} s lies above {} ({}) at {:.6g} s, which is impossible: "
                        "look for a disturbed row or a wrong calibration",
                        to_text(lower.kind),
                        lower.mode,
                        lower.seconds.count(),
                        to_text(upper.kind),
                        upper.mode,
                        upper.seconds.count()));
      }
    }
  }
}

void add_reference_findings(const model::Graph& graph,
                            const ResultSet& results,
                            std::vector<std::string>& findings) {
  std::map<model::LayerKey, std::vector<model::LayerId>> fallen;
  std::unordered_map<model::LayerKey, bool> known;
  for (model::LayerId id = 0; id < graph.layers.size(); ++id) {
    const model::Layer& layer = graph.layers[id];
    if (layer.role != model::Layer::Role::kCompute) {
      continue;
    }
    const auto [at, added] = known.try_emplace(layer.key, false);
    if (added) {
      at->second = results.fell_back_to_reference(layer.key);
    }
    if (at->second) {
      fallen[layer.key].push_back(id);
    }
  }
  for (const auto& [key, layers] : fallen) {
    findings.push_back(
        fmt::format("the library falls back to a reference implementation for {} "
                    "({}): {}",
                    graph.layers[layers.front()].name,
                    layers.size() == 1 ? "1 layer" : fmt::format("{} layers", layers.size()),
                    key.text));
  }
}

/// Lists how many of the rows that the bounds rest on were disturbed, and how many are unstable.
std::vector<std::string> list_disturbances(const ResultSet& results, const ModelBounds& model) {
  std::vector<std::string> found;
  std::map<results::RowId, bool> used;
  for (const Bound& bound : model.bounds) {
    for (const results::RowId row : bound.inputs) {
      used.emplace(row, true);
    }
  }
  std::size_t disturbed = 0;
  std::size_t unstable = 0;
  for (const results::StoredMeasurement& row : results.rows()) {
    if (!used.contains(row.row)) {
      continue;
    }
    disturbed += row.measurement.disturbance.disturbed ? 1U : 0U;
    unstable += row.measurement.outcome.kind == results::Outcome::Kind::kUnstable ? 1U : 0U;
  }
  if (disturbed > 0) {
    found.push_back(
        fmt::format("{} of {} rows used were measured on a disturbed host: run again "
                    "when it is quiet",
                    disturbed,
                    used.size()));
  }
  if (unstable > 0) {
    found.push_back(fmt::format(
        "{} of {} rows used are unstable: their intervals stayed wide", unstable, used.size()));
  }
  return found;
}

/// Lists what a reader of the bounds must know, in a fixed order. These are fall-backs to reference
/// implementations, bounds above what they must not exceed, and a missing calibration.
std::vector<std::string> list_findings(const model::Graph& graph,
                                       const ResultSet& results,
                                       const ModelBounds& bounds) {
  std::vector<std::string> findings;
  add_order_findings(bounds, findings);
  add_reference_findings(graph, results, findings);
  if (!results.calibration()) {
    findings.emplace_back(
        "the run has no calibration of this machine, so there is no hardware bound");
  }
  return findings;
}

void count_layers(const model::Graph& graph, const ResultSet& results, ModelBounds& model) {
  model.total_layers = graph.layers.size();
  for (const model::Layer& layer : graph.layers) {
    const bool costs = layer.role == model::Layer::Role::kCompute;
    const bool keyed = layer.role != model::Layer::Role::kUnsupported;
    if (keyed && (!costs || results.best(layer.key, results::CacheMode::kNone))) {
      ++model.measured_layers;
    } else {
      std::optional<results::Outcome::Kind> outcome;
      if (!keyed) {
        outcome = results::Outcome::Kind::kUnsupported;
      } else if (const std::optional<results::Outcome> failure = results.failure(layer.key)) {
        outcome = failure->kind;
      }
      model.unsupported.push_back(
          {layer.name, layer.key.text, find_reason(layer, results), outcome});
    }
  }
}

std::optional<Bound> compute_hardware_bound(const model::Graph& graph, const ResultSet& results) {
  if (!results.reached_calibration()) {
    return std::nullopt;
  }
  const std::optional<HardwareBound> floor = hardware_floor(graph, *results.reached_calibration());
  if (!floor) {
    return std::nullopt;
  }
  const std::optional<Seconds> known = floor->seconds();
  Bound bound;
  bound.kind = results::BoundKind::kHardware;
  bound.mode = "any";
  bound.seconds = known.value_or(Seconds{});
  bound.interval = {bound.seconds, bound.seconds};
  bound.complete = known && floor->complete;
  for (const model::Layer& layer : graph.layers) {
    bound.complete = bound.complete && layer.role != model::Layer::Role::kUnsupported;
  }
  return bound;
}

/// Returns the hardware bound of the updates that end a step of training: their traffic, as if
/// the gradients came from memory but for what the cache holds. Nothing for a model, and where the
/// cache holds all.
std::optional<Bound> compute_update_bound(const model::Graph& graph, const ResultSet& results) {
  model::Graph updates = graph;
  std::erase_if(updates.layers, [](const model::Layer& layer) {
    return layer.role != model::Layer::Role::kCompute || !model::is_update(layer.spec);
  });
  if (updates.layers.empty()) {
    return std::nullopt;
  }
  std::optional<Bound> bound = compute_hardware_bound(updates, results);
  if (!bound || !bound->complete) {
    return std::nullopt;
  }
  bound->kind = results::BoundKind::kHardwareUpdate;
  return bound;
}

/// Prices a partition by its layers alone: the library's choice, weights not in the cache.
std::vector<PartitionStep> in_network(std::vector<PartitionStep> steps, const ResultSet& results) {
  for (PartitionStep& step : steps) {
    if (step.key.text.empty()) {
      continue;
    }
    step.time = results.library_choice(step.key, results::CacheMode::kWeights);
    if (!step.time) {
      step.time = results.best(step.key, results::CacheMode::kWeights);
    }
  }
  return steps;
}

/// Returns the bound along the critical path. It is complete if the partition is.
Bound parallel_bound(results::BoundKind kind,
                     ModelPartition::Mode mode,
                     const ModelPartition& cover) {
  Bound bound = make_bound(kind, to_text(mode), cover.critical);
  bound.complete = sum_steps(cover.steps).missing == 0;
  return bound;
}

}  // namespace

ModelBounds compute_bounds(const ModelInstance& instance,
                           const model::Graph& graph,
                           const ResultSet& results) {
  ModelBounds model;
  model.instance = instance;
  count_layers(graph, results, model);
  if (std::optional<Bound> hardware = compute_hardware_bound(graph, results)) {
    model.bounds.push_back(std::move(*hardware));
  }
  if (std::optional<Bound> update = compute_update_bound(graph, results)) {
    model.bounds.push_back(std::move(*update));
  }
  ModelPartition plain = partition_model(graph, results, ModelPartition::Mode::kPlain);
  ModelPartition fusion = partition_model(graph, results, ModelPartition::Mode::kFusion);
  // A run with only hot times has no basis for a prediction: no estimate is better than part of
  // one.
  const bool cold = results.has_cold_rows();
  for (const auto& [mode, cover] : {std::pair(ModelPartition::Mode::kFusion, &fusion),
                                    std::pair(ModelPartition::Mode::kPlain, &plain)}) {
    model.bounds.push_back(make_bound(results::BoundKind::kLibrary, to_text(mode), cover->steps));
    model.bounds.push_back(parallel_bound(results::BoundKind::kLibraryParallel, mode, *cover));
    if (cold) {
      model.bounds.push_back(make_bound(
          results::BoundKind::kLayerSum, to_text(mode), in_network(cover->steps, results)));
      model.bounds.back().lacks = {
          "reorders between layouts", "gaps between steps", "parallel branches"};
    }
  }
  model.bounds.push_back(make_bound(results::BoundKind::kBenanzaSequential, "plain", plain.steps));
  model.bounds.push_back(
      parallel_bound(results::BoundKind::kBenanzaParallel, ModelPartition::Mode::kPlain, plain));

  model.cover = std::move(fusion.steps);
  model.plain_critical_steps = std::move(plain.critical);
  model.critical_steps = std::move(fusion.critical);
  for (const PartitionStep& step : model.critical_steps) {
    model.critical_path.insert(model.critical_path.end(), step.layers.begin(), step.layers.end());
  }
  model.findings = list_findings(graph, results, model);
  model.disturbances = list_disturbances(results, model);
  if (!fusion.optimal) {
    model.findings.emplace_back(
        "the fusions overlap too much to prove which partition is the cheapest: library may be too "
        "high");
  }
  return model;
}

namespace {

/// Returns a model that has this one layer.
model::Graph graph_of_layer(const model::LayerSpec& spec, const model::LayerCost& cost) {
  model::Graph graph;
  model::Layer layer;
  layer.spec = spec;
  layer.cost = cost;
  layer.role = spec.op == "view" ? model::Layer::Role::kView : model::Layer::Role::kCompute;
  for (const std::optional<model::TensorType>& input : spec.inputs) {
    layer.inputs.push_back(input ? std::optional(graph.values.size()) : std::nullopt);
    if (input) {
      graph.values.push_back({"", *input, std::nullopt, std::nullopt});
    }
  }
  for (const model::TensorType& output : spec.outputs) {
    layer.outputs.push_back(graph.values.size());
    graph.outputs.push_back(graph.values.size());
    graph.values.push_back({"", output, model::LayerId{0}, std::nullopt});
  }
  graph.layers.push_back(std::move(layer));
  return graph;
}

}  // namespace

std::vector<SingleLayerResult> single_layer_results(std::span<const model::ListedLayer> layers,
                                                    const ResultSet& results) {
  std::vector<SingleLayerResult> all;
  for (const model::ListedLayer& layer : layers) {
    SingleLayerResult& result = all.emplace_back();
    result.layer = layer;
    const model::LayerSpec spec = model::parse_key(layer.key);
    result.cost = model::compute_cost(spec);
    for (const results::CacheMode cache :
         {results::CacheMode::kNone, results::CacheMode::kWeights, results::CacheMode::kAll}) {
      if (!result.time) {
        result.cache = cache;
        result.time = results.best(layer.key, cache);
      }
    }
    if (results.reached_calibration()) {
      const auto floor =
          hardware_floor(graph_of_layer(spec, result.cost), *results.reached_calibration());
      result.hardware = floor ? floor->seconds() : std::nullopt;
    }
    if (!result.time) {
      const std::optional<results::Outcome> failure = results.failure(layer.key);
      result.reason = failure ? fmt::format("{}: {}", to_text(failure->kind), failure->reason)
                              : std::string("not measured");
    }
  }
  return all;
}

namespace {

/// Returns the library's bound on executions in a mode. Parallel branches have their own.
std::optional<Seconds> library_bound(const ModelBounds& model, const std::string& mode) {
  for (const results::BoundKind kind :
       {results::BoundKind::kLibrary, results::BoundKind::kLibraryParallel}) {
    if (const std::optional<std::string> wanted = mode_of_bound(kind, mode)) {
      return complete_time(model, kind, *wanted);
    }
  }
  return std::nullopt;
}

ModelSummary::Mode mode_summary(const ModelBounds& model, const std::string& name) {
  ModelSummary::Mode mode;
  mode.mode = name;
  mode.bound = library_bound(model, name);
  mode.predicted = complete_time(model, results::BoundKind::kPredicted, name);
  const auto execution = std::find_if(model.executions.begin(),
                                      model.executions.end(),
                                      [&](const ExecutionTime& each) { return each.mode == name; });
  if (execution != model.executions.end()) {
    mode.execution = &*execution;
  }
  return mode;
}

}  // namespace

std::optional<Seconds> ModelSummary::Mode::measured() const {
  return execution != nullptr && execution->samples > 0 ? std::optional(execution->median)
                                                        : std::nullopt;
}

std::optional<double> ModelSummary::Mode::gap() const {
  const std::optional<Seconds> time = measured();
  return time && bound && *bound > Seconds{} ? std::optional(*time / *bound) : std::nullopt;
}

ModelSummary summarize(const ModelBounds& model) {
  ModelSummary summary;
  std::vector<std::string> names = {"plain", "fusion"};
  for (const ExecutionTime& execution : model.executions) {
    if (std::find(names.begin(), names.end(), execution.mode) == names.end()) {
      names.push_back(execution.mode);
    }
  }
  for (const std::string& name : names) {
    summary.modes.push_back(mode_summary(model, name));
  }
  const auto chosen =
      std::find_if(summary.modes.begin(), summary.modes.end(), [](const ModelSummary::Mode& mode) {
        return mode.execution != nullptr && mode.execution->library_choice;
      });
  summary.now = (chosen != summary.modes.end() ? *chosen : summary.modes.front()).measured();
  std::optional<Seconds> least = summary.now;
  for (const ModelSummary::Mode& mode : summary.modes) {
    const std::optional<Seconds> time = mode.measured();
    if (time && results::execution_mode_from(mode.mode).has_own_layers() &&
        (!least || *time < *least)) {
      least = time;
      summary.fastest = &mode;
    }
  }
  for (const char* const mode : {"plain", "fusion"}) {
    const std::optional<Seconds> bound = complete_time(model, results::BoundKind::kLibrary, mode);
    if (bound && (!summary.library || *bound < *summary.library)) {
      summary.library = bound;
    }
  }
  summary.hardware = complete_time(model, results::BoundKind::kHardware, "any");
  return summary;
}

}  // namespace plumb::analysis
