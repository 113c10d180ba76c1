// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/bounds/result_set.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/model/key/layer_cost.hpp"

namespace plumb::analysis {

inline constexpr std::string_view kAnalysisVersion = "1";

/// Computes all bounds of one model from one run's rows. Pure.
[[nodiscard]] ModelBounds compute_bounds(const ModelInstance& instance,
                                         const model::Graph& graph,
                                         const ResultSet& results);

/// Results of a run for one layer that its suite lists.
struct SingleLayerResult {
  model::ListedLayer layer;
  model::LayerCost cost;
  results::CacheMode cache =
      results::CacheMode::kNone;    ///< of `time`: hot, or the first mode that was measured
  std::optional<KeyTime> time;      ///< of the fastest variant
  std::optional<Seconds> hardware;  ///< the hardware bound of this layer alone
  std::string reason;               ///< why there is no time; empty if there is one
};

/// Returns the results of each layer, in the order in which they are listed.
[[nodiscard]] std::vector<SingleLayerResult> single_layer_results(
    std::span<const model::ListedLayer> layers, const ResultSet& results);

/// What a model takes now, what its fastest mode takes, and what limits it. It refers to the bounds
/// that it summarises.
struct ModelSummary {
  /// One mode of a model: its bound, its estimate and its measured time.
  struct Mode {
    std::string mode;
    std::optional<Seconds> bound;      ///< of the library; absent: none holds, or incomplete
    std::optional<Seconds> predicted;  ///< absent: none, or incomplete
    const ExecutionTime* execution = nullptr;  ///< of the summarised bounds; null: not executed

    [[nodiscard]] std::optional<Seconds> measured() const;
    /// Returns the measured time ÷ the bound.
    [[nodiscard]] std::optional<double> gap() const;
  };

  std::optional<Seconds> now;       ///< end to end, as the library executes it by default
  const Mode* fastest = nullptr;    ///< measured with the model's own layers, faster than now
  std::optional<Seconds> library;   ///< the least complete bound of the library
  std::optional<Seconds> hardware;  ///< absent: not known, or incomplete
  std::vector<Mode> modes;          ///< plain, fusion, then in the order executed

  ModelSummary() = default;
  ModelSummary(ModelSummary&&) noexcept = default;
  ModelSummary& operator=(ModelSummary&&) noexcept = default;
  ModelSummary(const ModelSummary&) = delete;  // `fastest` points into `modes`
  ModelSummary& operator=(const ModelSummary&) = delete;
  ~ModelSummary() = default;
};

[[nodiscard]] ModelSummary summarize(const ModelBounds& model);

}  // namespace plumb::analysis
