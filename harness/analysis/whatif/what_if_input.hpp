// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "harness/analysis/bounds/model_instance.hpp"
#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/bounds/result_set.hpp"
#include "harness/analysis/coschedule/thread_scaling.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/results/division/divided_variant.hpp"
#include "harness/results/trace/traced_losses.hpp"

namespace plumb::analysis {

/// Input of what-ifs: one model's graph and its rows, which it refers to. It keeps graphs in other
/// types and their partitions, since several what-ifs ask for the same. For one thread at a time.
class WhatIfInput {
 public:
  WhatIfInput(const ModelInstance& of_instance,
              const model::Graph& of_graph,
              const ResultSet& of_results,
              const ThreadScaling* of_scaling = nullptr)
      : instance(of_instance), graph(of_graph), results(of_results), scaling(of_scaling) {}

  /// Returns the graph in a type of suites. Empty: the model's own.
  [[nodiscard]] const model::Graph& graph_in(std::string_view type) const;
  /// Returns the cheapest partition of that graph, and the one with the shortest critical path.
  [[nodiscard]] const ModelPartition& partition_in(std::string_view type, PartitionMode mode) const;

  const ModelInstance& instance;
  const model::Graph& graph;
  const ResultSet& results;
  results::DivisionRule division{};             ///< of batches
  std::optional<results::TracedLosses> traced;  ///< newest trace that the run keeps of the model
  const ThreadScaling* scaling;                 ///< null: nothing is known of other thread counts
  const ResultSet* padded = nullptr;            ///< layers with padded channels, of any run
  std::optional<bool> on_device;                ///< a device executes launches; absent: unknown

  /// Returns why branches cannot run side by side in this run. Empty: they can, or it is unknown.
  [[nodiscard]] std::string why_no_branches() const;

 private:
  mutable std::map<std::string, model::Graph, std::less<>> typed_;
  mutable std::map<std::pair<std::string, PartitionMode>, ModelPartition> partitions_;
};

}  // namespace plumb::analysis
