// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string_view>
#include <utility>

#include "harness/analysis/whatif/what_if.hpp"
#include "tests/unit/analysis/row_builder.hpp"
#include "tests/unit/rewrite/graph_sketch.hpp"

namespace plumb::analysis {

inline const ModelInstance kHandmade{"handmade", 1, "f32"};

inline model::Graph product_and_relu() {
  rewrite::GraphSketch g;
  return g.build({g.relu(g.gemm(g.input({4, 8}), 16))});
}

/// Returns the row of one what-if.
inline WhatIfResult ask(std::string_view name,
                        const model::Graph& graph,
                        const RowBuilder& rows,
                        const ModelInstance& instance = kHandmade) {
  const ResultSet results(rows.rows());
  for (WhatIfResult& result : compute_what_ifs({instance, graph, results}).whatifs) {
    if (result.name == name) {
      return std::move(result);
    }
  }
  throw std::runtime_error("no such what-if");
}

inline double microseconds(Seconds seconds) {
  return seconds.count() * 1e6;
}

}  // namespace plumb::analysis
