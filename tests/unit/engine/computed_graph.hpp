// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "runners/engine/exec/model_values.hpp"
#include "runners/engine/exec/reference_comparison.hpp"
#include "runners/engine/number_formats.hpp"
#include "tests/unit/rewrite/training_example.hpp"

namespace plumb::engine {

/// Computes a graph's outputs with the float64 reference, from the numbers of what no layer makes.
inline std::vector<std::vector<double>> compute_graph(const model::Graph& graph,
                                                      const rewrite::Numbers& numbers) {
  std::map<model::ValueId, model::Tensor> values;
  for (const auto& [id, list] : numbers) {
    values[id] = tensor_from(graph.values[id].type, list);
  }
  fold_constants(graph, values);
  std::vector<model::Tensor> outputs;
  const results::Outcome outcome = reference_model_outputs(graph, values, outputs);
  EXPECT_TRUE(outcome.ok()) << outcome.reason;
  std::vector<std::vector<double>> result;
  for (const model::Tensor& output : outputs) {
    result.push_back(read_numbers(output));
  }
  return result;
}

/// Returns some number for each element of what no layer of a graph makes.
inline rewrite::Numbers some_numbers(const model::Graph& graph) {
  rewrite::Numbers numbers;
  for (model::ValueId id = 0; id < graph.values.size(); ++id) {
    if (!graph.values[id].producer) {
      for (std::int64_t i = 0; i < element_count(graph.values[id].type); ++i) {
        numbers[id].push_back(rewrite::number(id, static_cast<std::size_t>(i)));
      }
    }
  }
  return numbers;
}

/// Expects outputs that are equal but for the rounding of float64, and not all zero.
inline void expect_equal_outputs(const std::vector<std::vector<double>>& found,
                                 const std::vector<std::vector<double>>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t output = 0; output < expected.size(); ++output) {
    ASSERT_EQ(found[output].size(), expected[output].size());
    double difference = 0.0;
    double size = 0.0;
    for (std::size_t i = 0; i < expected[output].size(); ++i) {
      difference += std::pow(found[output][i] - expected[output][i], 2);
      size += std::pow(expected[output][i], 2);
    }
    EXPECT_GT(size, 0.0) << output;
    EXPECT_LE(std::sqrt(difference / size), 1e-12) << output;
  }
}

}  // namespace plumb::engine
