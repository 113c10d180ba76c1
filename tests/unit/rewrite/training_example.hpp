// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "harness/rewrite/gradient/training_graph.hpp"

namespace plumb::rewrite {

/// Graph whose training is examined, and how its numbers are made.
struct Example {
  std::string name;
  std::function<model::Graph()> build;
  Loss loss = Loss::kCrossEntropy;
  bool positive = false;  ///< weights lie in [0.5, 1.5]: arguments of logarithms and divisors
  std::vector<std::string> frozen{};
};
void PrintTo(const Example& example, std::ostream* out);

[[nodiscard]] const std::vector<Example>& examples();

/// Number of an element that both languages can compute: tests/support/gradient_references.py.
[[nodiscard]] double number(std::size_t value, std::size_t element);

using Numbers = std::map<model::ValueId, std::vector<double>>;

/// Returns the numbers of all values of a graph that no layer computes.
[[nodiscard]] Numbers numbers_of_example(const Example& example, const TrainingGraph& made);

}  // namespace plumb::rewrite
