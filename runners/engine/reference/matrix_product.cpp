// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "harness/model/key/gradient_layer.hpp"
#include "runners/engine/reference/matrix_panel.hpp"
#include "runners/engine/reference/matrix_shape.hpp"
#include "runners/engine/reference/operators.hpp"

namespace plumb::engine::reference {
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
    const Broadcast c(spec, operands[2].dims, y.dims);
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
  const Broadcast a(spec, shape.a_batch, shape.batch);
  const Broadcast b(spec, shape.b_batch, shape.batch);
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
