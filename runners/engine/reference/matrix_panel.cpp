// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/reference/matrix_panel.hpp"

#include <algorithm>
#include <array>
#include <cstring>

// The start-up code of sanitizers does not work with the resolvers that target_clones makes.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PLUMB_WIDEST_VECTORS __attribute__((target_clones("avx512f", "avx2,fma", "default")))
#else
#define PLUMB_WIDEST_VECTORS
#endif

namespace plumb::engine::reference {
namespace {

using Vector = double __attribute__((vector_size(64)));
constexpr std::size_t kVectors = kPanelColumns * sizeof(double) / sizeof(Vector);

__attribute__((always_inline)) inline void load(Vector& to, const double* from) {
  std::memcpy(&to, from, sizeof(Vector));
}

/// Multiplies kRows rows by the panel, with kRows × kPanelColumns sums in registers over the whole
/// depth.
template <std::size_t kRows>
__attribute__((always_inline)) inline void multiply_rows(const double* left,
                                                         std::size_t depth,
                                                         const double* panel,
                                                         double* result,
                                                         std::size_t result_stride,
                                                         std::size_t columns) {
  Vector sums[kRows][kVectors] = {};
  for (std::size_t k = 0; k < depth; ++k) {
    Vector right[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) {
      load(right[v], panel + k * kPanelColumns + v * (kPanelColumns / kVectors));
    }
    for (std::size_t row = 0; row < kRows; ++row) {
      const double factor = left[row * depth + k];
      for (std::size_t v = 0; v < kVectors; ++v) {
        sums[row][v] += factor * right[v];
      }
    }
  }
  for (std::size_t row = 0; row < kRows; ++row) {
    std::array<double, kPanelColumns> line;
    std::memcpy(line.data(), sums[row], sizeof(line));
    for (std::size_t column = 0; column < columns; ++column) {
      result[row * result_stride + column] += line[column];
    }
  }
}

}  // namespace

PLUMB_WIDEST_VECTORS
void multiply_panel(const double* left,
                    std::size_t rows,
                    std::size_t depth,
                    const double* panel,
                    double* result,
                    std::size_t result_stride,
                    std::size_t columns) {
  std::size_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    multiply_rows<4>(
        left + row * depth, depth, panel, result + row * result_stride, result_stride, columns);
  }
  for (; row < rows; ++row) {
    multiply_rows<1>(
        left + row * depth, depth, panel, result + row * result_stride, result_stride, columns);
  }
}

}  // namespace plumb::engine::reference
