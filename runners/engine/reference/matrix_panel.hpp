// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace plumb::engine::reference {

/// Number of columns of the right-hand matrix that one call of multiply_panel handles.
inline constexpr std::size_t kPanelColumns = 16;

/// Adds left × panel to `result` in float64. This is the hot loop of convolutions and matrix
/// products.
///
/// left: rows × depth, dense, row-major. panel: depth × kPanelColumns, dense, row-major, unused
/// columns 0. result: rows × columns (at most kPanelColumns), with `result_stride` elements from
/// row to row.
void multiply_panel(const double* left,
                    std::size_t rows,
                    std::size_t depth,
                    const double* panel,
                    double* result,
                    std::size_t result_stride,
                    std::size_t columns);

}  // namespace plumb::engine::reference
