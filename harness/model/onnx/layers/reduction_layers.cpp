// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "harness/model/onnx/layers/layer_mapping.hpp"

namespace plumb::model {
namespace {

struct ReductionRow {
  std::string_view op;
  std::string_view fn;
  std::int64_t axes_input_since;  ///< opset from which the axes are input 1
};

constexpr std::array kReductions = std::to_array<ReductionRow>({
    {"ReduceMean", "mean", 18},
    {"ReduceSum", "sum", 13},
    {"ReduceMax", "max", 18},
    {"ReduceMin", "min", 18},
    {"ReduceProd", "prod", 18},
    {"ReduceL1", "l1", 18},
    {"ReduceL2", "l2", 18},
    {"ReduceSumSquare", "sum_square", 18},
    {"ReduceLogSum", "log_sum", 18},
    {"ReduceLogSumExp", "log_sum_exp", 18},
});

const ReductionRow& row_of(std::string_view op) {
  for (const ReductionRow& row : kReductions) {
    if (row.op == op) {
      return row;
    }
  }
  throw Unsupported(fmt::format("operator {} is not a reduction", op));
}

}  // namespace

MappedLayer map_reduce(const NodeView& node) {
  const ReductionRow& row = row_of(node.op());
  const std::size_t rank = node.dims(0).size();
  std::vector<std::int64_t> axes;
  if (node.opset() < row.axes_input_since) {
    axes = node.integers("axes").value_or(axes);
  } else if (node.has_input(1)) {
    axes = node.known_integers(1);
  }
  if (axes.empty()) {
    if (node.integer("noop_with_empty_axes", 0) != 0) {
      return view_layer(node);
    }
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (std::int64_t& axis : axes) {
    axis = NodeView::positive_axis(axis, rank);
  }
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  MappedLayer layer = begin_layer(node, "reduce", {0});
  layer.spec.attributes["axes"] = std::move(axes);
  layer.spec.attributes["fn"] = std::string(row.fn);
  layer.spec.attributes["keepdims"] = std::int64_t{node.integer("keepdims", 1) != 0};
  return layer;
}

MappedLayer map_arg_reduce(const NodeView& node) {
  MappedLayer layer = begin_layer(node, "arg_reduce", {0});
  layer.spec.attributes["axis"] =
      NodeView::positive_axis(node.integer("axis", 0), node.dims(0).size());
  layer.spec.attributes["fn"] = std::string(node.op() == "ArgMax" ? "argmax" : "argmin");
  layer.spec.attributes["keepdims"] = std::int64_t{node.integer("keepdims", 1) != 0};
  layer.spec.attributes["select_last"] = std::int64_t{node.integer("select_last_index", 0) != 0};
  return layer;
}

}  // namespace plumb::model
