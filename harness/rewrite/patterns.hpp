// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "harness/rewrite/match.hpp"

namespace plumb::rewrite {

/// Stages that may follow an anchor layer and become part of it.
enum class Stage {
  kBatchNorm,   ///< one BatchNorm with constant parameters, folded into constant weights and a bias
  kScale,       ///< a run of BatchNorms, Muls and Adds with constants per channel, folded likewise;
                ///< as long as possible; a single BatchNorm is kBatchNorm's. Behind a BatchNorm:
                ///< Muls and Adds, folded into its own scale and bias
  kBias,        ///< Add of N constants or of a vector [N] along the last dimension: epilogue add
  kResidual,    ///< Add of another value of the same shape: epilogue add
  kActivation,  ///< an activation, one node or written out: epilogue
};

/// Finds every layer of operator `anchor` that the stages follow. Each stage is the only reader of
/// the first result before it. Further results of the anchor stay.
[[nodiscard]] std::vector<Match> find_chains(const model::Graph& graph,
                                             std::string_view rule,
                                             std::string_view anchor,
                                             std::initializer_list<Stage> stages);

}  // namespace plumb::rewrite
