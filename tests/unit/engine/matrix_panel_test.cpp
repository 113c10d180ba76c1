// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runners/engine/reference/operators.hpp"

namespace plumb::engine::reference {
namespace {

TEST(MatrixPanel, adds_the_product_for_any_number_of_rows_and_columns) {
  const std::size_t depth = 7;
  const std::size_t stride = 20;
  for (std::size_t rows = 1; rows <= 9; ++rows) {
    for (std::size_t columns = 1; columns <= kPanelColumns; ++columns) {
      std::vector<double> left(rows * depth);
      std::vector<double> panel(depth * kPanelColumns, 0.0);
      for (std::size_t i = 0; i < left.size(); ++i) {
        left[i] = static_cast<double>(i % 11) - 4.0;
      }
      for (std::size_t k = 0; k < depth; ++k) {
        for (std::size_t column = 0; column < columns; ++column) {
          panel[k * kPanelColumns + column] = static_cast<double>((k * 5 + column * 3) % 13) - 6.0;
        }
      }
      std::vector<double> result(rows * stride, 0.5);
      multiply_panel(left.data(), rows, depth, panel.data(), result.data(), stride, columns);
      for (std::size_t i = 0; i < result.size(); ++i) {
        double expected = 0.5;
        for (std::size_t k = 0; k < depth && i % stride < columns; ++k) {
          expected += left[i / stride * depth + k] * panel[k * kPanelColumns + i % stride];
        }
        ASSERT_EQ(result[i], expected) << rows << " rows, " << columns << " columns, element " << i;
      }
    }
  }
}

}  // namespace
}  // namespace plumb::engine::reference
