// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "harness/model/onnx/layers/layer_mapping.hpp"

namespace plumb::model {
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
