// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "harness/analyze/bounds.hpp"
#include "harness/model/graph.hpp"
#include "harness/plan/work_item.hpp"
#include "harness/results/run.hpp"
#include "harness/suite/suite.hpp"

namespace plumb {

/// Is one model of a suite, read and given its type.
struct PlannedModel {
  ModelInstance instance;
  Graph graph;
};

/// Is one part of a suite that is spread over machines: part `index` of `count`, counted from 1.
struct Shard {
  std::uint32_t index = 1;
  std::uint32_t count = 1;
};
/// Parses "2/4". Throws Error{kUser}.
[[nodiscard]] Shard parse_shard(std::string_view text);

/// Lists every key the suite needs once: plain layers, the fused keys that rewrites find, and
/// listed layers. Heaviest first, so that a budget that ends early has measured what matters most.
/// A key belongs to exactly one shard, by a hash that is stable over machines. Deterministic.
[[nodiscard]] std::vector<WorkItem> work_items(std::span<const PlannedModel> models,
                                               std::span<const ResolvedSuite::LayerEntry> layers,
                                               std::span<const CacheMode> caches,
                                               const Shard& shard);

/// Drops from `items` the cache modes for which `rows` holds a finished measurement (or a final
/// refusal).
[[nodiscard]] std::vector<WorkItem> without_measured(std::vector<WorkItem> items,
                                                     std::span<const StoredMeasurement> rows);

/// Lists what of `rows` still needs its confirmation: keys with full rows of more than one variant
/// within `margin` of the best and no kConfirm row. At most `most` variants a key, the library's
/// choice beside.
[[nodiscard]] std::vector<Confirmation> confirmations(std::span<const StoredMeasurement> rows,
                                                      double margin,
                                                      std::size_t most);

/// Counts how much measuring each key once saves: occurrences against unique keys, per model and
/// over all.
struct DedupeFigures {
  std::int64_t occurrences = 0;       ///< layers of all models, each time they occur
  std::int64_t unique_per_model = 0;  ///< summed over models
  std::int64_t unique = 0;            ///< over all models together
};
[[nodiscard]] DedupeFigures dedupe_figures(std::span<const PlannedModel> models);

}  // namespace plumb
