// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/base/digest.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/labels/variant_id.hpp"
#include "harness/results/measurement.hpp"
#include "harness/results/run.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {

/// One model of a suite, read and given its data type.
struct PlannedModel {
  analysis::ModelInstance instance;
  model::Graph graph;
};

/// Source of the items that an executor measures, one by one.
class WorkSource {
 public:
  /// One key whose fastest variants are measured again in a fresh process.
  struct Confirmation {
    /// The rule by which variants of a key are measured again in fresh processes.
    struct Rule {
      double margin = 0.03;  ///< full rows are good to half a percent: slower ones cannot win
      std::size_t max_variants = 2;  ///< of a key, beside the library's choice
      std::size_t processes = 1;     ///< fresh processes that time each
    };

    model::LayerKey key;
    std::vector<results::CacheMode> caches;
    std::vector<std::string> variants;  ///< the fastest few and the library's own choice
  };

  /// One part of a suite that is spread over machines: part `index` of `count`, counted from 1.
  struct Shard {
    std::uint32_t index = 1;
    std::uint32_t count = 1;
  };

  /// One key to measure once, however often it occurs.
  struct Item {
    model::LayerKey key;
    std::int64_t occurrences = 0;  ///< in all models and listed layers of the suite
    double weight = 0.0;  ///< MACs × occurrences; bytes moved ÷ 1000 where there are no MACs
    std::vector<results::CacheMode> caches;  ///< still to be measured
  };

  /// Numbers of keys to measure with a selection and without one.
  struct Counts {
    std::size_t selected = 0;
    std::size_t all = 0;
  };

  WorkSource() = default;
  virtual ~WorkSource() = default;
  WorkSource(const WorkSource&) = delete;
  WorkSource& operator=(const WorkSource&) = delete;
  WorkSource(WorkSource&&) = delete;
  WorkSource& operator=(WorkSource&&) = delete;

  /// Returns the items that next() may still return, for the progress that is shown.
  [[nodiscard]] virtual const std::vector<Item>& items() const = 0;
  /// Returns the next item. Absent: there is none.
  [[nodiscard]] virtual std::optional<Item> next() = 0;
};

/// Throws Error{kUser}, with the operators that there are, for a wanted pattern of a suite's
/// selection that no layer matches.
void check_wanted_layers(std::span<const PlannedModel> models, const suite::ResolvedSuite& suite);
/// Parses "2/4". Throws Error{kUser} unless 1 ≤ index ≤ count ≤ 100,000.
[[nodiscard]] WorkSource::Shard parse_shard(std::string_view text);

/// Lists every key that the suite needs, once: plain layers, fused keys of rewrites, and listed
/// layers. The heaviest come first, so that a budget that ends early has measured what matters
/// most. A key belongs to exactly one shard, by a hash that is stable over machines. Deterministic.
/// `selection` leaves layers out, and fused forms with them: its patterns are compared with a
/// layer's name, its operator as in the file ("Conv") and as in the key ("conv"), and its key.
[[nodiscard]] std::vector<WorkSource::Item> work_items(
    std::span<const PlannedModel> models,
    std::span<const model::ListedLayer> layers,
    std::span<const results::CacheMode> caches,
    const WorkSource::Shard& shard,
    const suite::ResolvedSuite::Selection& selection = {});

/// Lists the layers of which the mode micro_batch needs times: the models' convolutions with
/// smaller batches.
[[nodiscard]] std::vector<model::ListedLayer> list_batch_parts(
    std::span<const PlannedModel> models, results::VariantId::DivisionRule::Policy policy);

/// Removes the cache modes that `rows` settles, and the items that have none left. A finished
/// measurement settles a cache mode, and so does a final refusal.
[[nodiscard]] std::vector<WorkSource::Item> without_measured(
    std::vector<WorkSource::Item> items, std::span<const results::StoredMeasurement> rows);

/// Lists the keys of `rows` that too few fresh processes have confirmed, by the rule.
///
/// The first process measures the variants within the margin of the fastest full row, and the
/// library's choice, in every cache mode that was timed. Later processes measure the same variants,
/// hot.
[[nodiscard]] std::vector<WorkSource::Confirmation> confirmations(
    std::span<const results::StoredMeasurement> rows, const WorkSource::Confirmation::Rule& rule);

/// Counts what a suite's selection leaves. Throws Error{kUser}, with the operators that there are,
/// for a wanted pattern that no layer matches, and if nothing is left.
[[nodiscard]] WorkSource::Counts selected_layers(std::span<const PlannedModel> models,
                                                 const suite::ResolvedSuite& suite);

/// Shuffles values into an order that a run's id and a round's number fix, on any machine. The
/// method is that of Fisher and Yates. std::shuffle differs between libraries.
template <typename Value>
void shuffle_for(const std::string& run, std::size_t round, std::vector<Value>& values) {
  std::mt19937_64 random(hash64(std::as_bytes(std::span(run))) + round);
  for (std::size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[random() % i]);
  }
}

}  // namespace plumb::session
