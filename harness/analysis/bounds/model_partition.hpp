// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/base/units.hpp"
#include "harness/measure/sample_summary.hpp"
#include "harness/model/graph/graph.hpp"

namespace plumb::analysis {

/// Limit of the states of one group of overlapping options. Real networks need a few dozen.
inline constexpr std::size_t kMaxPartitionStates = 4096;

/// Cheapest way to execute a model, computed from hot times of the fastest variants.
struct ModelPartition {
  /// Steps of a partition with their sum.
  struct Priced {
    /// Sum over steps, with the rows from which it is computed.
    struct Sum {
      measure::MeasuredTime time;
      std::size_t missing = 0;  ///< steps without a time: they add nothing
      std::optional<Timestamp> oldest_row;
      std::vector<results::RowId> inputs;  ///< ascending, each once
    };

    std::vector<PartitionStep> steps;
    Sum sum;
    std::string why_not;  ///< empty: every step has a time
  };

  /// Choice of options that executes every layer exactly once.
  struct Cover {
    /// Groups of layers that only grow together (union-find with path halving).
    class LayerGroups {
     public:
      /// Makes a group of each layer.
      explicit LayerGroups(std::size_t layers) : parent_(layers) {
        std::iota(parent_.begin(), parent_.end(), model::LayerId{0});
      }

      /// Returns the layer that stands for a layer's group.
      [[nodiscard]] model::LayerId root(model::LayerId layer) {
        while (parent_[layer] != layer) {
          layer = parent_[layer] = parent_[parent_[layer]];
        }
        return layer;
      }
      /// Joins the groups of two layers. The first one's root stands for both.
      void join(model::LayerId first, model::LayerId second) {
        parent_[root(second)] = root(first);
      }

     private:
      std::vector<model::LayerId> parent_;
    };

    /// Longest chain of options that wait for each other.
    struct CriticalPath {
      Seconds length{};
      std::vector<std::size_t>
          options;  ///< indices, source to sink; their times add up to `length`
    };

    /// One way to execute some layers: a single layer, or several fused.
    struct Option {
      std::vector<model::LayerId> layers;  ///< ascending; only the last one's result is read
                                           ///< outside; views in between may be among them
      std::optional<Seconds> seconds;      ///< absent: not measured
    };

    std::vector<std::size_t>
        chosen;           ///< indices of options, by their last layer: a topological order
    bool optimal = true;  ///< false: more than kMaxPartitionStates states, the best seen was kept
  };

  /// Steps that a mode allows.
  enum class Mode {
    kPlain,   ///< layers as they are written
    kFusion,  ///< also several of them as one, by the table of rewrites
  };

  std::vector<PartitionStep> steps;  ///< topological; no steps for views and folded layers
  std::vector<PartitionStep>
      critical;  ///< of the partition with the shortest critical path, source to sink
  Seconds critical_length{};
  bool optimal = true;  ///< see Cover::optimal
};

/// Finds the cheapest partition of the layers that have options. It has as few layers without a
/// time as possible, then as few seconds. Every such layer needs an option of its own, but for
/// views, which cost nothing. Options of several layers without a time are ignored.
///
/// Exact: dynamic programming over the layers in order, within each group of overlapping options.
/// The state is the set of later layers that an option has already taken. Deterministic: of equal
/// costs, the order of layers and options decides, plain layers first.
[[nodiscard]] ModelPartition::Cover cheapest_partition(
    std::size_t layers, std::span<const ModelPartition::Cover::Option> all);

/// Finds the shortest critical path over all partitions into these options. As many options execute
/// at once as the graph allows. Layers without options take no time.
///
/// One pass in topological order. The earliest finish of a value is the minimum, over the options
/// that make it, of the latest finish of what the option reads, plus the option's time. Nothing
/// inside an option is read outside. The choices for all values therefore fit together into one
/// partition, so that the result is attained and not only a relaxation. A layer without a time is
/// free only where it is in `cover`, the cheapest partition, too. So the result never exceeds the
/// sum over `cover`.
[[nodiscard]] ModelPartition::Cover::CriticalPath shortest_critical_path(
    const model::Graph& graph,
    std::span<const ModelPartition::Cover::Option> options,
    const ModelPartition::Cover& cover);

[[nodiscard]] std::string_view to_text(ModelPartition::Mode mode);  ///< "plain", "fusion"
/// Computes the partition. kFusion takes all rules, or only those of the rewrite::FusionFamily that
/// is named.
[[nodiscard]] ModelPartition partition_model(const model::Graph& graph,
                                             const ResultSet& results,
                                             ModelPartition::Mode mode,
                                             std::string_view family = {});

/// Adds up the medians. Different rows are independent: their half intervals add as the root of the
/// sum of squares, lower and upper separately. One row used n times is one measurement, with n
/// times its half (docs/reference/bounds.md).
[[nodiscard]] ModelPartition::Priced::Sum sum_steps(const std::vector<PartitionStep>& steps);

/// Prices the steps of a model in a precision. `why_not` says how many steps have no time in it,
/// and why the first has none.
[[nodiscard]] ModelPartition::Priced priced_partition(const model::Graph& graph,
                                                      const ResultSet& results,
                                                      std::vector<PartitionStep> steps,
                                                      std::string_view precision);

/// Returns a bound or estimate from the sum over steps. It is complete if every step has a time.
[[nodiscard]] Bound make_bound(results::BoundKind kind,
                               std::string_view mode,
                               const std::vector<PartitionStep>& steps);

/// Returns the names of a step's layers: "conv1 + relu1", or the first and last of many.
[[nodiscard]] std::string name_of(const model::Graph& graph,
                                  const std::vector<model::LayerId>& layers);

/// Returns why a layer has no time: its own reason, the worst outcome, or that nothing was
/// measured.
[[nodiscard]] std::string find_reason(const model::Layer& layer, const ResultSet& results);

}  // namespace plumb::analysis
