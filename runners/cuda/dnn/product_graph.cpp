// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/dnn/product_graph.hpp"

#include <fmt/format.h>

#include <functional>
#include <numeric>
#include <utility>

#include "runners/cuda/dnn/cudnn_type.hpp"
#include "runners/cuda/exec/index_space.hpp"

namespace plumb::cuda {
namespace {

/// Matrices of one factor.
struct Factor {
  std::int64_t batch = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool transposed = false;
};

Factor factor_of(const model::TensorType& type, bool transposed) {
  if (type.dims.size() < 2) {
    throw Unsupported("a product of a vector by cuDNN");
  }
  const auto end = type.dims.end();
  return {std::accumulate(type.dims.begin(), end - 2, std::int64_t{1}, std::multiplies<>()),
          transposed ? end[-1] : end[-2],
          transposed ? end[-2] : end[-1],
          transposed};
}

GraphTensor tensor_of(model::DataType type, const Factor& factor) {
  GraphTensor tensor;
  tensor.type = cudnn_type(type);
  tensor.dimensions = {factor.batch, factor.rows, factor.columns};
  const std::int64_t across = factor.transposed ? 1 : factor.columns;
  const std::int64_t along = factor.transposed ? factor.rows : 1;
  tensor.strides = {factor.rows * factor.columns, across, along};
  return tensor;
}

bool flag(const model::LayerSpec& spec, const char* name) {
  return spec.op == "gemm" && spec.integer(name) != 0;
}

}  // namespace

TensorGraph product_graph(const model::LayerSpec& spec) {
  if (spec.op != "gemm" && spec.op != "matmul") {
    throw Unsupported(fmt::format("'{}' is no product", spec.op));
  }
  const model::TensorType& left = spec.inputs.at(0).value();
  const model::TensorType& right = spec.inputs.at(1).value();
  Factor a = factor_of(left, flag(spec, "trans_a"));
  const Factor b = factor_of(right, flag(spec, "trans_b"));
  if (b.batch == 1) {
    a.rows *= std::exchange(a.batch, 1);  // the rows of a batch follow each other
  } else if (a.batch != b.batch) {
    throw Unsupported("a product by cuDNN whose batches broadcast");
  }
  TensorGraph graph;
  graph.tensors = {tensor_of(left.dtype, a),
                   tensor_of(right.dtype, b),
                   tensor_of(spec.outputs.at(0).dtype, {a.batch, a.rows, b.columns, false})};
  graph.tensors[0].operand = 0;
  graph.tensors[1].operand = 1;
  graph.operations.emplace_back(MatmulOperation{0, 1, 2});
  return graph;
}

}  // namespace plumb::cuda
