// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "harness/model/onnx/layers/layer_mapping.hpp"

namespace plumb::model {
namespace {

void refuse_further_outputs(const NodeView& node) {
  for (std::size_t i = 1; i < node.output_count(); ++i) {
    if (node.has_output(i)) {
      throw Unsupported(fmt::format(
          "output {} ('{}') is used: only inference is measured", i, node.output(i)->name));
    }
  }
}

void refuse_stash_type(const NodeView& node) {
  constexpr std::int64_t kFloat = 1;
  if (node.integer("stash_type", kFloat) != kFloat) {
    throw Unsupported(fmt::format("stash_type {}", node.integer("stash_type", kFloat)));
  }
}

MappedLayer with_epsilon(MappedLayer layer, const NodeView& node) {
  layer.spec.attributes["epsilon"] = node.real("epsilon", 1e-5);
  return layer;
}

std::int64_t read_axis(const NodeView& node, std::int64_t otherwise) {
  return NodeView::positive_axis(node.integer("axis", otherwise), node.dims(0).size());
}

}  // namespace

MappedLayer map_batch_norm(const NodeView& node) {
  if (node.integer("training_mode", 0) != 0) {
    throw Unsupported("training_mode 1: only inference is measured");
  }
  refuse_further_outputs(node);
  MappedLayer layer = with_epsilon(begin_layer(node, "batch_norm", {0, 1, 2, 3, 4}), node);
  const bool spatial = node.opset() >= 9 || node.integer("spatial", 1) != 0;
  layer.spec.attributes["mode"] = std::string(spatial ? "spatial" : "per_activation");
  return layer;
}

MappedLayer map_layer_norm(const NodeView& node) {
  refuse_further_outputs(node);
  refuse_stash_type(node);
  MappedLayer layer = with_epsilon(begin_layer(node, "layer_norm", {0, 1, 2}), node);
  layer.spec.attributes["axis"] = read_axis(node, -1);
  return layer;
}

MappedLayer map_rms_norm(const NodeView& node) {
  refuse_stash_type(node);
  MappedLayer layer = with_epsilon(begin_layer(node, "rms_norm", {0, 1}), node);
  layer.spec.attributes["axis"] = read_axis(node, -1);
  return layer;
}

MappedLayer map_instance_norm(const NodeView& node) {
  return with_epsilon(begin_layer(node, "instance_norm", {0, 1, 2}), node);
}

MappedLayer map_group_norm(const NodeView& node) {
  refuse_stash_type(node);
  MappedLayer layer = with_epsilon(begin_layer(node, "group_norm", {0, 1, 2}), node);
  layer.spec.attributes["groups"] = node.integer("num_groups", 1);
  return layer;
}

MappedLayer map_lrn(const NodeView& node) {
  MappedLayer layer = begin_layer(node, "lrn", {0});
  layer.spec.attributes["alpha"] = node.real("alpha", 1e-4);
  layer.spec.attributes["beta"] = node.real("beta", 0.75);
  layer.spec.attributes["bias"] = node.real("bias", 1.0);
  layer.spec.attributes["size"] = node.integer("size", 1);
  return layer;
}

MappedLayer map_softmax(const NodeView& node) {
  MappedLayer layer = begin_layer(node, "softmax", {0});
  const std::vector<std::int64_t>& dims = node.dims(0);
  const bool old = node.opset() < 13;
  std::int64_t axis = dims.empty() ? 0 : read_axis(node, old ? 1 : -1);
  std::int64_t behind = 1;
  for (auto i = static_cast<std::size_t>(axis) + 1; i < dims.size(); ++i) {
    behind *= dims[i];
  }
  // As a matrix, only extents behind the axis make a difference (Softmax-1 to -11).
  layer.spec.attributes["axis"] = axis;
  layer.spec.attributes["coerce"] = std::int64_t{old && behind != 1};
  layer.spec.attributes["log"] = std::int64_t{node.op() == "LogSoftmax"};
  return layer;
}

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
