// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "harness/model/graph/graph.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "harness/session/work/planned_model.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {

/// Filter of layers by the patterns of a selection.
///
/// A pattern is compared with a layer's name, its operator as in the file ("Conv") and as in the
/// key ("conv"), and its key. Operators are compared without regard to capitals.
class LayerFilter {
 public:
  /// Keeps a reference to the selection.
  explicit LayerFilter(const suite::LayerSelection& selection) : selection_(selection) {}

  [[nodiscard]] bool keeps(const model::Layer& layer) const;
  /// Returns whether a key that a suite lists is kept.
  [[nodiscard]] bool keeps(const model::LayerKey& key) const;
  /// Returns whether a fused form is kept: all its layers are, or its own key is wanted. A form
  /// with an excluded layer is not.
  [[nodiscard]] bool keeps(const model::Graph& graph, const rewrite::Match& match) const;

 private:
  const suite::LayerSelection& selection_;
};

/// Throws Error{kUser}, with the operators that there are, for a wanted pattern of a suite's
/// selection that no layer matches.
void check_wanted_layers(std::span<const PlannedModel> models, const suite::ResolvedSuite& suite);

}  // namespace plumb::session
