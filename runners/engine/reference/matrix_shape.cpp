// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/reference/matrix_shape.hpp"

namespace plumb::engine::reference {
namespace {

MatrixShape gemm_shape(const model::LayerSpec& spec, const Dims& a, const Dims& b, const Dims& y) {
  const bool turn_a = spec.integer("trans_a") != 0;
  const bool turn_b = spec.integer("trans_b") != 0;
  require(a.size() == 2 && b.size() == 2 && y.size() == 2, spec, "a, b and y are not matrices");
  const std::int64_t depth = turn_a ? a[0] : a[1];
  require(y[0] == (turn_a ? a[1] : a[0]) && y[1] == (turn_b ? b[0] : b[1]) &&
              depth == (turn_b ? b[1] : b[0]),
          spec,
          "the shapes of a, b and y do not fit");
  MatrixShape shape;
  shape.rows = static_cast<std::size_t>(y[0]);
  shape.depth = static_cast<std::size_t>(depth);
  shape.columns = static_cast<std::size_t>(y[1]);
  shape.a_row = turn_a ? 1 : shape.depth;
  shape.a_depth = turn_a ? shape.rows : 1;
  shape.b_depth = turn_b ? 1 : shape.columns;
  shape.b_column = turn_b ? shape.depth : 1;
  return shape;
}

}  // namespace

MatrixShape matrix_shape(const model::LayerSpec& spec) {
  require(
      spec.has_input(0) && spec.has_input(1) && !spec.outputs.empty(), spec, "a or b is missing");
  Dims a = spec.inputs[0]->dims;
  Dims b = spec.inputs[1]->dims;
  const Dims& y = spec.outputs[0].dims;
  if (spec.op == "gemm") {
    return gemm_shape(spec, a, b, y);
  }
  // As in numpy.matmul, a vector is a matrix of one row (a) or one column (b), an axis that the
  // output lacks.
  require(!a.empty() && !b.empty(), spec, "a or b is a scalar");
  const bool row_vector = a.size() == 1;
  const bool column_vector = b.size() == 1;
  if (row_vector) {
    a.insert(a.begin(), 1);
  }
  if (column_vector) {
    b.push_back(1);
  }
  require(a.back() == b[b.size() - 2], spec, "a's columns are not b's rows");
  MatrixShape shape;
  shape.rows = static_cast<std::size_t>(a[a.size() - 2]);
  shape.depth = static_cast<std::size_t>(a.back());
  shape.columns = static_cast<std::size_t>(b.back());
  shape.a_row = shape.depth;
  shape.a_depth = 1;
  shape.b_depth = shape.columns;
  shape.b_column = 1;
  shape.a_batch.assign(a.begin(), a.end() - 2);
  shape.b_batch.assign(b.begin(), b.end() - 2);

  Dims matrix;
  if (!row_vector) {
    matrix.push_back(a[a.size() - 2]);
  }
  if (!column_vector) {
    matrix.push_back(b.back());
  }
  require(y.size() >= matrix.size() &&
              Dims(y.end() - static_cast<std::ptrdiff_t>(matrix.size()), y.end()) == matrix,
          spec,
          "the output's rows or columns are not those of a and b");
  shape.batch.assign(y.begin(), y.end() - static_cast<std::ptrdiff_t>(matrix.size()));
  return shape;
}

}  // namespace plumb::engine::reference
