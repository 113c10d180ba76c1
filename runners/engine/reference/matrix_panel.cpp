// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cstring>

#include "harness/model/key/training_layers.hpp"
#include "runners/engine/reference/numbers.hpp"
#include "runners/engine/reference/operators.hpp"

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

namespace {

/// Adds a·b to y, dense and row-major.
void multiply(const MatrixShape& shape, const double* a, const double* b, double* y) {
  std::vector<double> turned;
  if (shape.a_depth != 1) {
    turned.resize(shape.rows * shape.depth);
    for (std::size_t row = 0; row < shape.rows; ++row) {
      for (std::size_t k = 0; k < shape.depth; ++k) {
        turned[row * shape.depth + k] = a[row * shape.a_row + k * shape.a_depth];
      }
    }
    a = turned.data();
  }
  std::vector<double> panel(shape.depth * kPanelColumns);
  for (std::size_t first = 0; first < shape.columns; first += kPanelColumns) {
    const std::size_t used = std::min(kPanelColumns, shape.columns - first);
    std::fill(panel.begin(), panel.end(), 0.0);
    for (std::size_t column = 0; column < used; ++column) {
      const double* from = b + (first + column) * shape.b_column;
      for (std::size_t k = 0; k < shape.depth; ++k) {
        panel[k * kPanelColumns + column] = from[k * shape.b_depth];
      }
    }
    multiply_panel(a, shape.rows, shape.depth, panel.data(), y + first, shape.columns, used);
  }
}

}  // namespace

Numbers general_matrix_product(const model::LayerSpec& spec, Operands operands) {
  const MatrixShape shape = matrix_shape(spec);
  Numbers y = zeros_like_output(spec);
  multiply(shape, operands[0].values.data(), operands[1].values.data(), y.values.data());
  const double alpha = spec.real("alpha");
  const double beta = spec.real("beta");
  for (double& value : y.values) {
    value *= alpha;
  }
  if (spec.has_input(2)) {
    const Numbers::Broadcasting c(spec, operands[2].dims, y.dims);
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      y.values[i] += beta * operands[2].values[c(i)];
    }
  }
  return y;
}

std::vector<Numbers> product_and_bias_gradient(const model::LayerSpec& spec, Operands operands) {
  const model::LayerSpec product = model::product_of(spec);
  const MatrixShape shape = matrix_shape(product);
  std::vector<Numbers> results{general_matrix_product(product, operands),
                               zeros_like_output(spec, 1)};
  std::vector<double>& bias = results[1].values;
  const std::string& of = spec.text("of");
  require(bias.size() == (of == "a" ? shape.rows : shape.columns),
          spec,
          "the bias' gradient has another length than what is summed");
  for (std::size_t i = 0; of != "y" && i < bias.size(); ++i) {
    for (std::size_t k = 0; k < shape.depth; ++k) {
      bias[i] += of == "a" ? operands[0].values[i * shape.a_row + k * shape.a_depth]
                           : operands[1].values[i * shape.b_column + k * shape.b_depth];
    }
  }
  return results;
}

void add_up_columns(const Numbers& result, Numbers& bias) {
  std::fill(bias.values.begin(), bias.values.end(), 0.0);
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    bias.values[i % bias.values.size()] += result.values[i];
  }
}

Numbers batched_matrix_product(const model::LayerSpec& spec, Operands operands) {
  const MatrixShape shape = matrix_shape(spec);
  const Numbers::Broadcasting a(spec, shape.a_batch, shape.batch);
  const Numbers::Broadcasting b(spec, shape.b_batch, shape.batch);
  Numbers y = zeros_like_output(spec);
  const auto batch = static_cast<std::size_t>(product(shape.batch));
  for (std::size_t n = 0; n < batch; ++n) {
    multiply(shape,
             operands[0].values.data() + a(n) * shape.rows * shape.depth,
             operands[1].values.data() + b(n) * shape.depth * shape.columns,
             y.values.data() + n * shape.rows * shape.columns);
  }
  return y;
}

Numbers integer_matrix_product(const model::LayerSpec& spec, Operands operands) {
  std::vector<Numbers> shifted{operands[0], operands[1]};
  for (std::size_t i = 0; i < 2; ++i) {
    if (spec.has_input(i + 2)) {
      require(operands[i + 2].values.size() == 1, spec, "a zero point is not a single number");
      for (double& value : shifted[i].values) {
        value -= operands[i + 2].values[0];
      }
    }
  }
  return batched_matrix_product(spec, shifted);
}

}  // namespace plumb::engine::reference
