// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/rewrite.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "harness/rewrite/activation_pattern.hpp"
#include "harness/rewrite/bias_gradient_pattern.hpp"
#include "harness/rewrite/chain.hpp"
#include "harness/rewrite/layer_norm_pattern.hpp"
#include "harness/rewrite/update_pattern.hpp"

namespace plumb::rewrite {
namespace {

using enum Stage;
using Matches = std::vector<Match>;

// clang-format off
constexpr std::array kRewrites = std::to_array<Rewrite>({
    {"conv_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "conv_activation", "conv", {kActivation}); }},
    {"conv_add", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "conv_add", "conv", {kResidual}); }},
    {"conv_add_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "conv_add_activation", "conv", {kResidual, kActivation}); }},
    {"conv_bn", "folding", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "conv_bn", "conv", {kBatchNorm}); }},
    {"conv_bn_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "conv_bn_activation", "conv", {kBatchNorm, kActivation}); }},
    {"conv_bn_add", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "conv_bn_add", "conv", {kBatchNorm, kResidual}); }},
    {"conv_bn_add_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "conv_bn_add_activation", "conv",
                          {kBatchNorm, kResidual, kActivation}); }},
    {"conv_scale", "folding", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "conv_scale", "conv", {kScale}); }},
    {"conv_scale_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "conv_scale_activation", "conv", {kScale, kActivation}); }},
    {"conv_scale_add", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "conv_scale_add", "conv", {kScale, kResidual}); }},
    {"conv_scale_add_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "conv_scale_add_activation", "conv",
                          {kScale, kResidual, kActivation}); }},
    {"gemm_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "gemm_activation", "gemm", {kActivation}); }},
    {"matmul_add", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "matmul_add", "matmul", {kBias}); }},
    {"matmul_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "matmul_activation", "matmul", {kActivation}); }},
    {"matmul_add_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "matmul_add_activation", "matmul", {kBias, kActivation}); }},
    {"matmul_add_add", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "matmul_add_add", "matmul", {kBias, kResidual}); }},
    {"bn_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "bn_activation", "batch_norm", {kActivation}); }},
    {"bn_scale", "folding", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "bn_scale", "batch_norm", {kScale}); }},
    {"bn_scale_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "bn_scale_activation", "batch_norm", {kScale, kActivation}); }},
    {"bn_training_activation", "fusion", [](const model::Graph& graph) -> Matches {
       return find_chains(graph, "bn_training_activation", "batch_norm_training",
                          {kActivation}); }},
    {"bias_gradient", "fusion", [](const model::Graph& graph) -> Matches {
       return find_bias_gradients(graph, "bias_gradient"); }},
    {"gelu", "fusion", [](const model::Graph& graph) -> Matches {
       return find_written_out_activations(graph, "gelu", "gelu_erf"); }},
    {"silu", "fusion", [](const model::Graph& graph) -> Matches {
       return find_written_out_activations(graph, "silu", "silu"); }},
    {"hard_swish", "fusion", [](const model::Graph& graph) -> Matches {
       return find_written_out_activations(graph, "hard_swish", "hard_swish"); }},
    {"layer_norm", "fusion", [](const model::Graph& graph) -> Matches {
       return find_layer_norms(graph, "layer_norm"); }},
    {"update", "fusion", [](const model::Graph& graph) -> Matches {
       return find_updates(graph, "update"); }},
});
// clang-format on

}  // namespace

std::span<const Rewrite> rewrites() {
  return kRewrites;
}

std::vector<Match> matches(const model::Graph& graph) {
  std::vector<Match> all;
  for (const Rewrite& rule : kRewrites) {
    std::vector<Match> found = rule.find(graph);
    std::move(found.begin(), found.end(), std::back_inserter(all));
  }
  std::stable_sort(all.begin(), all.end(), [](const Match& left, const Match& right) {
    return left.layers.front() < right.layers.front();
  });
  return all;
}

std::vector<Match> largest_matches(const model::Graph& graph,
                                   const std::function<bool(const Match&)>& accepted) {
  std::vector<Match> found = matches(graph);
  // Stable, so that of two matches of the same size the one that begins first is chosen.
  std::stable_sort(found.begin(), found.end(), [](const Match& left, const Match& right) {
    return left.layers.size() > right.layers.size();
  });
  std::vector<bool> taken(graph.layers.size(), false);
  std::erase_if(found, [&](const Match& match) {
    const bool overlaps = std::any_of(
        match.layers.begin(), match.layers.end(), [&](model::LayerId id) { return taken[id]; });
    if (overlaps || !accepted(match)) {
      return true;
    }
    for (const model::LayerId id : match.layers) {
      taken[id] = true;
    }
    return false;
  });
  return found;
}

}  // namespace plumb::rewrite
