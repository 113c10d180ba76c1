// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "harness/model/onnx/layers/layer_mapping.hpp"

namespace plumb::model {
namespace {

using Integers = std::vector<std::int64_t>;

Integers iota(std::size_t size) {
  Integers list(size);
  std::iota(list.begin(), list.end(), 0);
  return list;
}

/// Reads a list that is an attribute in old versions, and an input from opset `since` on.
std::optional<Integers> read_list(const NodeView& node,
                                  std::string_view name,
                                  std::size_t index,
                                  std::int64_t since) {
  if (node.opset() < since) {
    return node.integers(name);
  }
  return node.has_input(index) ? std::optional(node.known_integers(index)) : std::nullopt;
}

std::int64_t read_axis(const NodeView& node, std::int64_t otherwise) {
  return NodeView::positive_axis(node.integer("axis", otherwise), node.dims(0).size());
}

}  // namespace

MappedLayer map_view(const NodeView& node) {
  return view_layer(node);
}

MappedLayer map_dropout(const NodeView& node) {
  if (node.has_output(1)) {
    throw Unsupported(
        fmt::format("the mask ('{}') is used: only inference is measured", node.output(1)->name));
  }
  if (node.has_input(2)) {
    const ConstantValue& training = node.known(2);
    if (training.size() != 1 || training.number(0) != 0.0) {
      throw Unsupported("training_mode 1: only inference is measured");
    }
  }
  return view_layer(node);
}

MappedLayer map_concat(const NodeView& node) {
  if (node.input_count() == 1) {
    return view_layer(node);
  }
  std::vector<std::size_t> operands(node.input_count());
  std::iota(operands.begin(), operands.end(), std::size_t{0});
  MappedLayer layer = begin_layer(node, "concat", std::move(operands));
  layer.spec.attributes["axis"] = read_axis(node, 1);
  return layer;
}

MappedLayer map_split(const NodeView& node) {
  MappedLayer layer = begin_layer(node, "split", {0});
  for (std::size_t i = 1; i < node.output_count(); ++i) {
    layer.spec.outputs.push_back(node.output_type(i));
  }
  layer.spec.attributes["axis"] = read_axis(node, 0);
  return layer;
}

MappedLayer map_slice(const NodeView& node) {
  const Integers& dims = node.dims(0);
  const std::optional<Integers> starts = read_list(node, "starts", 1, 10);
  if (!starts) {
    throw Unsupported("Slice without starts");
  }
  const Integers axes = read_list(node, "axes", 3, 10).value_or(iota(starts->size()));
  Integers steps(starts->size(), 1);
  if (node.opset() >= 10 && node.has_input(4)) {
    steps = node.known_integers(4);
  }
  if (axes.size() != starts->size() || steps.size() != starts->size()) {
    throw Unsupported(
        fmt::format("{} starts, {} axes, {} steps", starts->size(), axes.size(), steps.size()));
  }
  struct Cut {
    std::int64_t axis, start, step;
  };
  std::vector<Cut> cuts;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = NodeView::positive_axis(axes[i], dims.size());
    const std::int64_t extent = dims[static_cast<std::size_t>(axis)];
    std::int64_t start = (*starts)[i] < 0 ? (*starts)[i] + extent : (*starts)[i];
    start = std::clamp<std::int64_t>(
        start, 0, std::max<std::int64_t>(steps[i] < 0 ? extent - 1 : extent, 0));
    const bool whole = steps[i] == 1 && node.output_type(0).dims.size() == dims.size() &&
                       node.output_type(0).dims[static_cast<std::size_t>(axis)] == extent;
    if (!whole) {  // an axis that is kept whole changes nothing
      cuts.push_back({axis, start, steps[i]});
    }
  }
  std::sort(cuts.begin(), cuts.end(), [](const Cut& a, const Cut& b) { return a.axis < b.axis; });
  Integers cut_axes;
  Integers cut_starts;
  Integers cut_steps;
  for (const Cut& cut : cuts) {
    cut_axes.push_back(cut.axis);
    cut_starts.push_back(cut.start);
    cut_steps.push_back(cut.step);
  }
  MappedLayer layer = begin_layer(node, "slice", {0});
  layer.spec.attributes["axes"] = std::move(cut_axes);
  layer.spec.attributes["starts"] = std::move(cut_starts);
  layer.spec.attributes["steps"] = std::move(cut_steps);
  return layer;
}

MappedLayer map_pad(const NodeView& node) {
  const std::size_t rank = node.dims(0).size();
  const std::optional<Integers> given = read_list(node, "pads", 1, 11);
  if (!given) {
    throw Unsupported("Pad without pads");
  }
  Integers axes = iota(rank);
  if (node.opset() >= 18 && node.has_input(3)) {
    axes = node.known_integers(3);
  }
  if (given->size() != 2 * axes.size()) {
    throw Unsupported(fmt::format("{} pads for {} axes", given->size(), axes.size()));
  }
  Integers pads(2 * rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(NodeView::positive_axis(axes[i], rank));
    pads[axis] = (*given)[i];
    pads[axis + rank] = (*given)[i + axes.size()];
  }
  const std::string mode = node.word("mode", "constant");
  double value = 0.0;
  if (mode == "constant") {
    if (node.opset() < 11) {
      value = node.real("value", 0.0);
    } else if (node.has_input(2) && node.known(2).size() == 1) {
      value = node.known(2).number(0);
    }
  }
  MappedLayer layer = begin_layer(node, "pad", {0});
  layer.spec.attributes["mode"] = mode;
  layer.spec.attributes["pads"] = std::move(pads);
  layer.spec.attributes["value"] = value;
  return layer;
}

MappedLayer map_transpose(const NodeView& node) {
  Integers reversed = iota(node.dims(0).size());
  std::reverse(reversed.begin(), reversed.end());
  MappedLayer layer = begin_layer(node, "transpose", {0});
  layer.spec.attributes["perm"] = node.integers("perm").value_or(std::move(reversed));
  return layer;
}

MappedLayer map_gather(const NodeView& node) {
  MappedLayer layer = begin_layer(node, "gather", {0, 1});
  layer.spec.attributes["axis"] = read_axis(node, 0);
  layer.spec.attributes["distribution"] = std::string("uniform");
  return layer;
}

MappedLayer map_expand(const NodeView& node) {
  return node.dims(0) == node.output_type(0).dims ? view_layer(node)
                                                  : begin_layer(node, "expand", {0});
}

MappedLayer map_tile(const NodeView& node) {
  Integers repeats = node.known_integers(1);
  if (std::all_of(repeats.begin(), repeats.end(), [](std::int64_t r) { return r == 1; })) {
    return view_layer(node);
  }
  MappedLayer layer = begin_layer(node, "tile", {0});
  layer.spec.attributes["repeats"] = std::move(repeats);
  return layer;
}

MappedLayer map_depth_to_space(const NodeView& node) {
  MappedLayer layer = begin_layer(node, "depth_to_space", {0});
  layer.spec.attributes["block"] = node.integer("blocksize", 1);
  layer.spec.attributes["mode"] = std::string(node.word("mode", "DCR") == "CRD" ? "crd" : "dcr");
  return layer;
}

MappedLayer map_space_to_depth(const NodeView& node) {
  if (const std::string mode = node.word("mode", "DCR"); mode != "DCR") {
    throw Unsupported(fmt::format("SpaceToDepth in mode {}", mode));
  }
  MappedLayer layer = begin_layer(node, "space_to_depth", {0});
  layer.spec.attributes["block"] = node.integer("blocksize", 1);
  return layer;
}

namespace {

/// Reads the scales, one for each dimension. If sizes are given instead, they follow from the
/// extents.
std::vector<double> read_scales(const NodeView& node) {
  const std::size_t rank = node.dims(0).size();
  const std::vector<std::int64_t>& output = node.output_type(0).dims;
  std::vector<double> scales(rank, 1.0);
  if (output.size() != rank) {
    throw Unsupported(
        fmt::format("an output of rank {} for an input of rank {}", output.size(), rank));
  }
  std::vector<double> given;
  const std::size_t index = node.opset() < 11 ? 1 : 2;
  if (const onnx::AttributeProto* attribute = node.attribute("scales")) {  // Upsample-7
    for (const float scale : attribute->floats()) {
      given.push_back(widen(scale));
    }
  } else if (node.has_input(index) && node.input_type(index).dims != std::vector<std::int64_t>{0}) {
    const ConstantValue& value = node.known(index);
    for (std::size_t i = 0; i < value.size(); ++i) {
      given.push_back(widen(static_cast<float>(value.number(i))));
    }
  }
  std::vector<std::int64_t> axes = node.integers("axes").value_or(std::vector<std::int64_t>{});
  if (axes.empty()) {
    for (std::size_t i = 0; i < rank; ++i) {
      axes.push_back(static_cast<std::int64_t>(i));
    }
  }
  if (!given.empty() && given.size() != axes.size()) {
    throw Unsupported(fmt::format("{} scales for {} axes", given.size(), axes.size()));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(NodeView::positive_axis(axes[i], rank));
    scales[axis] = given.empty()
                       ? static_cast<double>(output[axis]) / static_cast<double>(node.dims(0)[axis])
                       : given[i];
  }
  return scales;
}

}  // namespace

MappedLayer map_resize(const NodeView& node) {
  const bool modern = node.op() == "Resize" && node.opset() >= 11;
  std::string mode = node.word("mode", "nearest");
  if (mode == "bilinear" || mode == "trilinear") {
    mode = "linear";  // Upsample-1's name
  }
  if (node.word("keep_aspect_ratio_policy", "stretch") != "stretch") {
    throw Unsupported(
        fmt::format("keep_aspect_ratio_policy '{}'", node.word("keep_aspect_ratio_policy", "")));
  }
  // Upsample and Resize-10 have no choice of coordinates or rounding. They take output × 1/scale,
  // rounded down.
  const std::string coordinates = modern ? node.word("coordinate_transformation_mode", "half_pixel")
                                         : std::string("asymmetric");
  if (coordinates == "tf_crop_and_resize") {
    throw Unsupported("coordinates tf_crop_and_resize");
  }
  const bool nearest = mode == "nearest";
  const bool cubic = mode == "cubic";
  MappedLayer layer = begin_layer(node, "resize", {0});
  // Attributes that the mode does not read have their defaults, so that equal work has one key.
  layer.spec.attributes["antialias"] = std::int64_t{!nearest && node.integer("antialias", 0) != 0};
  layer.spec.attributes["coordinates"] = coordinates;
  layer.spec.attributes["cubic_a"] = cubic ? node.real("cubic_coeff_a", -0.75) : -0.75;
  layer.spec.attributes["exclude_outside"] =
      std::int64_t{!nearest && node.integer("exclude_outside", 0) != 0};
  layer.spec.attributes["mode"] = mode;
  layer.spec.attributes["nearest_mode"] =
      !nearest ? std::string("round_prefer_floor")
               : (modern ? node.word("nearest_mode", "round_prefer_floor") : std::string("floor"));
  layer.spec.attributes["scales"] = read_scales(node);
  return layer;
}

}  // namespace plumb::model
