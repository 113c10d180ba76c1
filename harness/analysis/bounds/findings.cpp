// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/findings.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <string_view>
#include <unordered_map>

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

}  // namespace

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

}  // namespace plumb::analysis
