// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/reference/matrix_panel.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace plumb::engine::reference {
namespace {

// The start-up code of sanitizers does not work with the resolvers that these versions make.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PLUMB_VERSIONS
#define PLUMB_VERSION(features) __attribute__((target(features)))
#else
#define PLUMB_VERSION(features)
#endif

// Vectors as wide as registers: gcc takes wider ones apart, through memory.
using Vector64 = double __attribute__((vector_size(64)));
using Vector32 = double __attribute__((vector_size(32)));
using Vector16 = double __attribute__((vector_size(16)));

/// Left-hand and right-hand matrix, and where their product is added.
struct Product {
  const double* left;
  std::size_t depth;
  const double* panel;
  double* result;
  std::size_t result_stride;
  std::size_t columns;
};

/// Multiplies kRows rows by some columns of the panel, with all sums in registers over the whole
/// depth.
template <typename Vector, std::size_t kRows, std::size_t kVectors>
__attribute__((always_inline)) inline void multiply_block(const Product& of,
                                                          std::size_t row,
                                                          std::size_t first) {
  constexpr std::size_t kWidth = sizeof(Vector) / sizeof(double);
  Vector sums[kRows][kVectors] = {};
  for (std::size_t k = 0; k < of.depth; ++k) {
    Vector right[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) {
      std::memcpy(&right[v], of.panel + k * kPanelColumns + first + v * kWidth, sizeof(Vector));
    }
    for (std::size_t each = 0; each < kRows; ++each) {
      const double factor = of.left[(row + each) * of.depth + k];
      for (std::size_t v = 0; v < kVectors; ++v) {
        sums[each][v] += factor * right[v];
      }
    }
  }
  for (std::size_t each = 0; each < kRows; ++each) {
    std::array<double, kWidth * kVectors> line;
    std::memcpy(line.data(), sums[each], sizeof(line));
    const std::size_t end = std::min(of.columns, first + line.size());
    for (std::size_t column = first; column < end; ++column) {
      of.result[(row + each) * of.result_stride + column] += line[column - first];
    }
  }
}

/// Multiplies all rows, four at a time, with eight sums of vectors in registers.
template <typename Vector>
__attribute__((always_inline)) inline void multiply_rows(const Product& of, std::size_t rows) {
  constexpr std::size_t kVectors = 2;
  constexpr std::size_t kWidth = kVectors * sizeof(Vector) / sizeof(double);
  for (std::size_t first = 0; first < of.columns; first += kWidth) {
    std::size_t row = 0;
    for (; row + 4 <= rows; row += 4) {
      multiply_block<Vector, 4, kVectors>(of, row, first);
    }
    for (; row < rows; ++row) {
      multiply_block<Vector, 1, kVectors>(of, row, first);
    }
  }
}

#ifdef PLUMB_VERSIONS
PLUMB_VERSION("avx512f") void multiply(const Product& of, std::size_t rows) {
  multiply_rows<Vector64>(of, rows);
}
PLUMB_VERSION("avx2,fma") void multiply(const Product& of, std::size_t rows) {
  multiply_rows<Vector32>(of, rows);
}
#endif
PLUMB_VERSION("default") void multiply(const Product& of, std::size_t rows) {
  multiply_rows<Vector16>(of, rows);
}

}  // namespace

void multiply_panel(const double* left,
                    std::size_t rows,
                    std::size_t depth,
                    const double* panel,
                    double* result,
                    std::size_t result_stride,
                    std::size_t columns) {
  multiply({left, depth, panel, result, result_stride, columns}, rows);
}

}  // namespace plumb::engine::reference
