// SPDX-License-Identifier: Apache-2.0
// Gradients of functions that become part of the layer before them, by the float64 reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "harness/rewrite/fused_graph.hpp"
#include "harness/rewrite/gradient/training_graph.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "tests/unit/engine/computed_graph.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::engine {
namespace {

TEST(ActivationGradients, change_neither_the_loss_nor_a_gradient) {
  rewrite::GraphSketch sketch;
  const auto first = sketch.relu(sketch.conv(sketch.input({2, 3, 4, 4}), 5, 3, true));
  const auto second = sketch.relu(sketch.conv(first, 6, 3, true));
  const auto hidden = sketch.relu(sketch.matmul(sketch.view(second, {2, 6, 16}), 7));
  const auto inner = sketch.eltwise(sketch.matmul(hidden, 8), "gelu_erf");
  const model::Graph graph =
      rewrite::with_precision(sketch.build({sketch.matmul(inner, 3)}), model::DataType::kF64);
  const rewrite::TrainingGraph made =
      rewrite::training_graph(graph, {.loss = rewrite::Loss::kMeanSquaredError});
  const rewrite::Numbers numbers = some_numbers(made.graph);
  const std::vector<std::vector<double>> before = compute_graph(made.graph, numbers);
  ASSERT_EQ(before.size(), 1 + made.gradients.size());
  for (const char* const family : {"conv_relu_backward", "gemm_gelu", "gemm_relu"}) {
    const std::vector<rewrite::Match> joined = rewrite::largest_matches(
        made.graph, [](const rewrite::Match&) { return true; }, family);
    const auto gradients =
        std::count_if(joined.begin(), joined.end(), [](const rewrite::Match& match) {
          return match.rewrite.ends_with("_activation_gradient");
        });
    EXPECT_EQ(gradients, 1) << family;
    const rewrite::FusedGraph fused = rewrite::fused_graph(made.graph, joined);
    expect_equal_outputs(compute_graph(fused.graph, numbers), before);
  }
}

}  // namespace
}  // namespace plumb::engine
