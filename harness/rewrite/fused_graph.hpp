// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "harness/rewrite/rewrite.hpp"

namespace plumb::rewrite {

/// Graph in which fewer layers replace some layers and compute the same.
struct FusedGraph {
  /// Folding of layers into the constants of a fused layer, done once, before the model runs. The
  /// layers apply in order. Each scales and shifts the channels of the weights and the bias.
  struct Folding {
    model::ValueId weights = 0;          ///< before; its first axis are the channels
    std::optional<model::ValueId> bias;  ///< before; absent: zero
    std::vector<model::Layer> layers;  ///< batch_norm, or binary mul, add, sub, div with a constant
    model::ValueId folded_weights = 0;
    model::ValueId folded_bias = 0;
  };

  /// Scale of quantised activations, and the values that it is computed from. It is the largest
  /// magnitude of these values over the largest integer of the type. The values are those of the
  /// graph before quantisation.
  struct ActivationGrid {
    std::vector<model::ValueId> of;
    model::ValueId scale = 0;
    model::DataType type = model::DataType::kS8;  ///< s8 or u8
  };

  /// 8-bit weights, and the weights that they are made of. The scale of each output channel comes
  /// from its largest magnitude.
  struct QuantizedWeights {
    model::ValueId weights = 0;  ///< before
    model::ValueId quantized = 0;
    model::ValueId scale = 0;
    bool columns = false;  ///< the channels are the last axis of a matrix, not the first axis
    bool turned = false;   ///< `weights` is the transpose of `quantized`
  };

  /// Sources of the constants of 8-bit layers, which are computed once, before the model runs.
  struct Quantization {
    std::vector<ActivationGrid> activations;
    std::vector<QuantizedWeights> weights;
  };

  model::Graph graph;  ///< values of the graph it was made of keep their ids; folded constants
                       ///< follow
  std::vector<Folding> foldings;
  std::vector<std::vector<model::LayerId>> origins;  ///< of each layer: those it was made of,
                                                     ///< ascending
  Quantization quantization;                         ///< of quantized_graph()
};

/// Replaces the layers of each match by its one layer. That layer stands where the last of them
/// stood, and is named after the first. Views of its results follow it. Throws Error{kInternal} if
/// matches overlap.
[[nodiscard]] FusedGraph fused_graph(const model::Graph& graph, std::span<const Match> matches);

}  // namespace plumb::rewrite
