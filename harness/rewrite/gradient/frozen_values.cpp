// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/frozen_values.hpp"

#include <fmt/format.h>

#include <optional>

#include "harness/base/error.hpp"
#include "harness/base/name_match.hpp"

namespace plumb::rewrite {

bool is_frozen_pattern(std::string_view text) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.*:/-";
  return !text.empty() && text.find_first_not_of(kAllowed) == std::string_view::npos;
}

std::set<model::ValueId> frozen_values(const model::Graph& graph,
                                       const std::vector<std::string>& patterns) {
  const std::set<model::ValueId> inputs(graph.inputs.begin(), graph.inputs.end());
  std::set<model::ValueId> frozen;
  for (const std::string& pattern : patterns) {
    bool found = false;
    for (const model::Layer& layer : graph.layers) {
      const bool whole = pattern == kBatchNorms && layer.spec.op == kBatchNorms;
      for (const std::optional<model::ValueId>& input : layer.inputs) {
        const bool is_constant =
            input && !graph.values[*input].producer && !inputs.contains(*input);
        if (is_constant && (whole || matches_pattern(pattern, graph.values[*input].name))) {
          frozen.insert(*input);
          found = true;
        }
      }
    }
    if (!found) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'{}' is to be frozen, and '{}' has no such weights: give the name "
                              "of a weight, in which '*' stands for any characters, or {}",
                              pattern,
                              graph.name,
                              kBatchNorms));
    }
  }
  return frozen;
}

}  // namespace plumb::rewrite
