// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "harness/analysis/matrix/matrix_axis.hpp"

namespace plumb::analysis {

/// A query by name. A new view is one row of the table.
struct MatrixView {
  std::string_view name;
  std::string_view shows;   ///< for a list
  std::string_view figure;  ///< of the Benanza paper that it corresponds to; empty: none
  std::string_view needs;   ///< options of `plumb run SUITE` that measure what it shows
  MatrixQuery query;
  bool front = false;  ///< latency against throughput over batches
};

[[nodiscard]] std::span<const MatrixView> matrix_views();
/// Finds a view by its name. Throws Error{kUser} that lists the names.
[[nodiscard]] const MatrixView& find_view(const std::string& name);

}  // namespace plumb::analysis
