// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/results/division/divided_variant.hpp"
#include "harness/results/run.hpp"
#include "harness/session/work/planned_model.hpp"
#include "harness/session/work/work_source.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {

/// One part of a suite that is spread over machines: part `index` of `count`, counted from 1.
struct Shard {
  std::uint32_t index = 1;
  std::uint32_t count = 1;
};
/// Parses "2/4". Throws Error{kUser} unless 1 ≤ index ≤ count ≤ 100,000.
[[nodiscard]] Shard parse_shard(std::string_view text);

/// Lists every key that the suite needs, once: plain layers, fused keys of rewrites, and listed
/// layers. The heaviest come first, so that a budget that ends early has measured what matters
/// most. A key belongs to exactly one shard, by a hash that is stable over machines. Deterministic.
/// `selection` leaves layers out, and fused forms with them (LayerFilter).
[[nodiscard]] std::vector<WorkItem> work_items(std::span<const PlannedModel> models,
                                               std::span<const model::ListedLayer> layers,
                                               std::span<const results::CacheMode> caches,
                                               const Shard& shard,
                                               const suite::LayerSelection& selection = {});

/// Lists the layers of which the mode micro_batch needs times: the models' convolutions with
/// smaller batches.
[[nodiscard]] std::vector<model::ListedLayer> list_batch_parts(std::span<const PlannedModel> models,
                                                               results::BatchPolicy policy);

/// Removes the cache modes that `rows` settles, and the items that have none left. A finished
/// measurement settles a cache mode, and so does a final refusal.
[[nodiscard]] std::vector<WorkItem> without_measured(
    std::vector<WorkItem> items, std::span<const results::StoredMeasurement> rows);

/// The rule by which variants of a key are measured again in fresh processes.
struct ConfirmationRule {
  double margin = 0.03;          ///< full rows are good to half a percent: slower ones cannot win
  std::size_t max_variants = 2;  ///< of a key, beside the library's choice
  std::size_t processes = 1;     ///< fresh processes that time each
};

/// Lists the keys of `rows` that too few fresh processes have confirmed, by the rule.
///
/// The first process measures the variants within the margin of the fastest full row, and the
/// library's choice, in every cache mode that was timed. Later processes measure the same variants,
/// hot.
[[nodiscard]] std::vector<Confirmation> confirmations(
    std::span<const results::StoredMeasurement> rows, const ConfirmationRule& rule);

/// Savings by measuring each key once: occurrences against unique keys, per model and over all.
struct DedupeFigures {
  std::int64_t occurrences = 0;       ///< layers of all models, each time they occur
  std::int64_t unique_per_model = 0;  ///< summed over models
  std::int64_t unique = 0;            ///< over all models together
};
[[nodiscard]] DedupeFigures dedupe_figures(std::span<const PlannedModel> models);

/// Numbers of keys to measure with a selection and without one.
struct SelectedLayers {
  std::size_t selected = 0;
  std::size_t all = 0;
};

/// Counts what a suite's selection leaves. Throws Error{kUser}, with the operators that there are,
/// for a wanted pattern that no layer matches, and if nothing is left.
[[nodiscard]] SelectedLayers selected_layers(std::span<const PlannedModel> models,
                                             const suite::ResolvedSuite& suite);

}  // namespace plumb::session
