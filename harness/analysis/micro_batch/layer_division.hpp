// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/bounds/result_set.hpp"
#include "harness/base/units.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/labels/variant_id.hpp"

namespace plumb::analysis {

/// Lists the sizes of parts that a policy allows, ascending.
[[nodiscard]] std::vector<std::int64_t> batch_sizes(results::VariantId::DivisionRule::Policy policy,
                                                    std::int64_t batch);

/// Fastest way to execute a convolution or its gradient, in parts of its batch or as a whole, under
/// a cap of workspace.
struct LayerDivision {
  /// One choice for each layer, whose workspaces together fit.
  struct Assignment {
    /// One choice of a layer: what it takes, and the workspace that it holds.
    struct Choice {
      Seconds time{};
      Bytes workspace;
    };

    std::vector<std::size_t> choices;  ///< index into each layer's choices
    Seconds time{};                    ///< the sum
    Bytes workspace;                   ///< the sum
  };

  /// Division of a batch into parts that are executed one after the other. They share a workspace.
  struct Batch {
    /// One way to execute a layer on a part of a batch.
    struct Part {
      std::int64_t batch = 1;
      Seconds time{};
      Bytes workspace;
      std::string variant;
    };

    std::vector<Part> parts;  ///< largest first
    Seconds time{};           ///< the sum
    Bytes workspace;          ///< the largest
  };

  /// A part, or the addition of what a part computed.
  struct Step {
    model::LayerKey key;
    KeyTime time;
  };
  std::vector<Step> steps;            ///< the parts in order, then the additions
  std::size_t parts = 0;              ///< 1: the batch is not divided
  std::string variant;                ///< that executes the layer so (results::divided_variant)
  bool own_choice = false;            ///< it is the library's own choice
  std::vector<std::int64_t> missing;  ///< batches without a time: then there are no parts
  std::string why_not;                ///< empty: there are parts

  [[nodiscard]] Seconds time() const;  ///< sum of the steps
};

/// Finds the fastest division of a batch whose parts all keep the workspace within `cap`. Kernels
/// say which sizes there are. This is the dynamic programme WR of µ-cuDNN (arXiv 1804.04806,
/// section 3.2). Absent: no division fits.
[[nodiscard]] std::optional<LayerDivision::Batch> fastest_division(
    std::span<const LayerDivision::Batch::Part> kernels, std::int64_t batch, Bytes cap);

/// Finds all divisions that are not beaten in both time and workspace, by ascending workspace and
/// so by descending time. This is the desirable set of WD (section 3.3).
[[nodiscard]] std::vector<LayerDivision::Batch> desirable_divisions(
    std::span<const LayerDivision::Batch::Part> kernels, std::int64_t batch);

/// Lists the batches that are tried for a layer, ascending, its own last. Empty: the layer is no
/// convolution of several images, and no gradient of one.
[[nodiscard]] std::vector<std::int64_t> part_sizes(const model::LayerSpec& spec,
                                                   results::VariantId::DivisionRule::Policy policy);

/// Divides a layer with part_sizes(), by hot times of the same layer with smaller batches and of
/// model::part_additions(). Each size counts with the library's choice, or with the fastest variant
/// that keeps the cap where that does not. What a part adds is in its workspace.
[[nodiscard]] LayerDivision divide_layer(const ResultSet& results,
                                         const model::LayerSpec& spec,
                                         const results::VariantId::DivisionRule& rule);

/// Finds the fastest choice of every layer within a total workspace. This is the integer programme
/// WD of µ-cuDNN (arXiv 1804.04806, section 3.3), solved exactly. Layers do not share memory here:
/// WD divides one total among them. Absent: even the smallest choices do not fit, or a layer has
/// none.
[[nodiscard]] std::optional<LayerDivision::Assignment> assign_workspaces(
    std::span<const std::vector<LayerDivision::Assignment::Choice>> layers, Bytes total);

}  // namespace plumb::analysis
