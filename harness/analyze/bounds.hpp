// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analyze/model_execution.hpp"
#include "harness/analyze/model_instance.hpp"
#include "harness/analyze/model_load.hpp"
#include "harness/analyze/result_set.hpp"
#include "harness/model/graph.hpp"
#include "harness/rewrite/rewrite.hpp"

namespace plumb {

inline constexpr std::string_view kAnalysisVersion = "1";

/// One bound or estimate (DESIGN §4; the kinds are in docs/reference/bounds.md).
struct Bound {
  std::string kind;  ///< hardware, library, library_parallel, predicted, benanza_sequential,
                     ///< benanza_parallel
  std::string mode;  ///< "plain", "fusion"
  Seconds seconds{};
  Interval interval{};
  bool complete = false;  ///< every layer has a time; else the sum of those that have one
  std::optional<Timestamp> oldest_row;
  std::vector<RowId> inputs;
};

/// One step of a cover or of the critical path: a layer, or several fused into one.
struct CoverStep {
  std::vector<LayerId> layers;
  std::string rewrite;  ///< empty: the plain layer
  LayerKey key;
  std::optional<KeyTime> time;  ///< absent: not measured
  bool critical = false;        ///< one of its layers lies on the critical path
};

/// Bounds, estimates and findings that one model's layers give, and its end-to-end times.
struct ModelBounds {
  ModelInstance instance;
  std::size_t measured_layers =
      0;  ///< layers with a time, plus views and folded ones, which cost nothing
  std::size_t total_layers = 0;
  struct Unsupported {
    std::string layer;
    std::string key;
    std::string reason;
    std::optional<Outcome::Kind> outcome = {};  ///< absent: nothing was attempted
  };
  std::vector<Unsupported> unsupported;
  std::vector<Bound> bounds;
  std::vector<CoverStep> cover;           ///< of `library`, mode fusion: topological order
  std::vector<CoverStep> critical_steps;  ///< of `library_parallel`, mode fusion: source to sink;
                                          ///< their times add up to it
  std::vector<LayerId> critical_path;     ///< the layers of critical_steps, source to sink
  std::vector<ExecutionTime> executions;  ///< end to end, in the same run; see add_executions()
  std::vector<LoadExecution> loads;       ///< by MLPerf's scenarios, likewise; see add_loads()
  std::vector<std::string>
      findings;  ///< fell back to a reference; a bound above another it must not exceed…
};

/// Computes all bounds of one model from one run's rows. Pure.
[[nodiscard]] ModelBounds bounds_of(const ModelInstance& instance,
                                    const Graph& graph,
                                    const ResultSet& results);

}  // namespace plumb
