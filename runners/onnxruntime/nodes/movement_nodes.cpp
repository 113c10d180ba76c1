// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/base/error.hpp"
#include "runners/onnxruntime/nodes/node_writer.hpp"

namespace plumb::onnxruntime {
namespace {

/// Returns the extents of a view as they stand for other shapes, too: 0 for an extent that is the
/// input's, and -1 for the only other one.
std::vector<std::int64_t> open_dims(const std::vector<std::int64_t>& input,
                                    const std::vector<std::int64_t>& output) {
  std::vector<std::int64_t> dims = output;
  for (std::size_t axis = 0; axis < std::min(input.size(), dims.size()); ++axis) {
    dims[axis] = dims[axis] == input[axis] ? 0 : dims[axis];
  }
  const auto others = [](std::int64_t extent) { return extent != 0; };
  if (std::count_if(dims.begin(), dims.end(), others) == 1) {
    *std::find_if(dims.begin(), dims.end(), others) = -1;
  }
  return dims;
}

}  // namespace

void write_concat(const NamedLayer& layer, NodeWriter& writer) {
  writer.add("Concat", layer.inputs, layer.outputs, {{"axis", layer.spec.integer("axis")}});
}

void write_split(const NamedLayer& layer, NodeWriter& writer) {
  const std::int64_t axis = layer.spec.integer("axis");
  std::vector<std::int64_t> sizes;
  for (const model::TensorType& output : layer.spec.outputs) {
    sizes.push_back(output.dims[static_cast<std::size_t>(axis)]);
  }
  writer.add("Split", {layer.inputs[0], writer.integers(sizes)}, layer.outputs, {{"axis", axis}});
}

void write_slice(const NamedLayer& layer, NodeWriter& writer) {
  const std::vector<std::int64_t>& axes = layer.spec.integers("axes");
  const std::vector<std::int64_t>& starts = layer.spec.integers("starts");
  const std::vector<std::int64_t>& steps = layer.spec.integers("steps");
  std::vector<std::int64_t> ends;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t extent = layer.spec.outputs[0].dims[static_cast<std::size_t>(axes[i])];
    const std::int64_t end = starts[i] + steps[i] * extent;
    // A negative end would count from the other side.
    ends.push_back(end < 0 ? std::numeric_limits<std::int64_t>::min() : end);
  }
  Names inputs{layer.inputs[0]};
  for (const auto& list : {starts, ends, axes, steps}) {
    inputs.push_back(writer.integers(list));
  }
  writer.add("Slice", inputs, layer.outputs);
}

void write_pad(const NamedLayer& layer, NodeWriter& writer) {
  const std::string& mode = layer.spec.text("mode");
  if (mode == "wrap") {
    writer.require_opset(19);
  }
  const std::string pads = writer.integers(layer.spec.integers("pads"));
  writer.add(
      "Pad",
      {layer.inputs[0], pads, writer.number(layer.spec.outputs[0].dtype, layer.spec.real("value"))},
      layer.outputs,
      {{"mode", mode}});
}

void write_transpose(const NamedLayer& layer, NodeWriter& writer) {
  writer.add("Transpose", layer.inputs, layer.outputs, {{"perm", layer.spec.integers("perm")}});
}

void write_view(const NamedLayer& layer, NodeWriter& writer) {
  const std::vector<std::int64_t>& dims = layer.spec.outputs[0].dims;
  if (dims == layer.spec.inputs[0]->dims) {
    writer.add("Identity", {layer.inputs[0]}, layer.outputs);
    return;
  }
  // Without `allowzero` an extent of 0 stands for the input's.
  const bool empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
  writer.add("Reshape",
             {layer.inputs[0],
              writer.integers(empty ? dims : open_dims(layer.spec.inputs[0]->dims, dims))},
             layer.outputs,
             empty ? NodeAttributes{{"allowzero", std::int64_t{1}}} : NodeAttributes{});
}

void write_gather(const NamedLayer& layer, NodeWriter& writer) {
  writer.add("Gather", layer.inputs, layer.outputs, {{"axis", layer.spec.integer("axis")}});
}

void write_resize(const NamedLayer& layer, NodeWriter& writer) {
  const model::LayerSpec& spec = layer.spec;
  const std::vector<double>& scales = spec.reals("scales");
  const std::vector<std::int64_t>& from = spec.inputs[0]->dims;
  const std::vector<std::int64_t>& to = spec.outputs[0].dims;
  bool exact = true;  // the scales give the extents
  bool whole = true;  // … without a rest
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const float scaled = static_cast<float>(from[i]) * static_cast<float>(scales[i]);
    whole = whole && scaled == static_cast<float>(to[i]);
    exact = exact && static_cast<std::int64_t>(std::floor(scaled)) == to[i];
  }
  if (spec.text("coordinates") == "align_corners" && !whole) {
    throw Error(Error::Kind::kUser,
                "the runtime aligns corners to another extent where a scale gives a fraction");
  }
  if (spec.text("coordinates") == "half_pixel_symmetric") {
    writer.require_opset(19);
  }
  Names inputs{layer.inputs[0], "", "", ""};
  if (exact) {
    inputs[2] = writer.reals(scales);
  } else {
    inputs[3] = writer.integers(to);
  }
  writer.add("Resize",
             inputs,
             layer.outputs,
             {{"antialias", spec.integer("antialias")},
              {"coordinate_transformation_mode", spec.text("coordinates")},
              {"cubic_coeff_a", spec.real("cubic_a")},
              {"exclude_outside", spec.integer("exclude_outside")},
              {"mode", spec.text("mode")},
              {"nearest_mode", spec.text("nearest_mode")}});
}

void write_cast(const NamedLayer& layer, NodeWriter& writer) {
  const model::DataType to = layer.spec.outputs[0].dtype;
  if (is_f8(to) || is_f8(layer.spec.inputs[0]->dtype)) {
    writer.require_opset(19);
  }
  writer.add("Cast", layer.inputs, layer.outputs, {{"to", std::int64_t{onnx_type(to)}}});
}

void write_expand(const NamedLayer& layer, NodeWriter& writer) {
  writer.add(
      "Expand", {layer.inputs[0], writer.integers(layer.spec.outputs[0].dims)}, layer.outputs);
}

void write_tile(const NamedLayer& layer, NodeWriter& writer) {
  writer.add(
      "Tile", {layer.inputs[0], writer.integers(layer.spec.integers("repeats"))}, layer.outputs);
}

void write_depth_to_space(const NamedLayer& layer, NodeWriter& writer) {
  const std::string mode = layer.spec.text("mode") == "crd" ? "CRD" : "DCR";
  writer.add("DepthToSpace",
             layer.inputs,
             layer.outputs,
             {{"blocksize", layer.spec.integer("block")}, {"mode", mode}});
}

void write_space_to_depth(const NamedLayer& layer, NodeWriter& writer) {
  writer.add(
      "SpaceToDepth", layer.inputs, layer.outputs, {{"blocksize", layer.spec.integer("block")}});
}

}  // namespace plumb::onnxruntime
