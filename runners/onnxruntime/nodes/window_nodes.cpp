// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "harness/base/error.hpp"
#include "runners/onnxruntime/nodes/node_rules.hpp"

namespace plumb::onnxruntime {
namespace {

bool all_are(const std::vector<std::int64_t>& values, std::int64_t wanted) {
  return std::all_of(
      values.begin(), values.end(), [&](std::int64_t value) { return value == wanted; });
}

NodeAttributes window_attributes(const model::LayerSpec& spec) {
  return {{"dilations", spec.integers("dilations")},
          {"group", spec.integer("group")},
          {"pads", spec.integers("pads")},
          {"strides", spec.integers("strides")}};
}

/// Returns whether a pool has one window, which is the whole extent: ONNX has operators of its own
/// for that, which runtimes execute by other code.
bool is_global(const model::LayerSpec& spec) {
  const std::vector<std::int64_t>& dims = spec.inputs[0]->dims;
  const std::vector<std::int64_t>& kernel = spec.integers("kernel");
  return dims.size() == kernel.size() + 2 &&
         std::equal(kernel.begin(), kernel.end(), dims.begin() + 2) &&
         all_are(spec.integers("pads"), 0) && all_are(spec.integers("dilations"), 1) &&
         std::all_of(spec.outputs[0].dims.begin() + 2,
                     spec.outputs[0].dims.end(),
                     [](std::int64_t extent) { return extent == 1; });
}

std::string pool_operator(std::string_view op) {
  return op == "max_pool" ? "MaxPool" : op == "average_pool" ? "AveragePool" : "LpPool";
}

}  // namespace

void write_conv(const NamedLayer& layer, NodeWriter& writer) {
  writer.add("Conv",
             {layer.inputs[0], layer.inputs[1], operand(layer, 2)},
             layer.outputs,
             window_attributes(layer.spec));
}

void write_conv_transpose(const NamedLayer& layer, NodeWriter& writer) {
  NodeAttributes attributes = window_attributes(layer.spec);
  attributes.emplace_back("output_padding", layer.spec.integers("output_padding"));
  writer.add("ConvTranspose",
             {layer.inputs[0], layer.inputs[1], operand(layer, 2)},
             layer.outputs,
             attributes);
}

void write_pool(const NamedLayer& layer, NodeWriter& writer) {
  const model::LayerSpec& spec = layer.spec;
  const std::string op = pool_operator(spec.op);
  NodeAttributes attributes;
  if (op == "LpPool") {
    attributes.emplace_back("p", spec.integer("p"));
  }
  if (is_global(spec)) {
    writer.add("Global" + op, {layer.inputs[0]}, layer.outputs, attributes);
    return;
  }
  attributes.emplace_back("ceil_mode", spec.integer("ceil_mode"));
  attributes.emplace_back("kernel_shape", spec.integers("kernel"));
  attributes.emplace_back("pads", spec.integers("pads"));
  attributes.emplace_back("strides", spec.integers("strides"));
  if (op == "AveragePool") {
    attributes.emplace_back("count_include_pad", spec.integer("count_include_pad"));
  }
  if (!all_are(spec.integers("dilations"), 1)) {
    attributes.emplace_back("dilations", spec.integers("dilations"));
    writer.require_opset(op == "AveragePool" ? 19 : 18);
  }
  writer.add(op, {layer.inputs[0]}, layer.outputs, attributes);
}

void write_normalization(const NamedLayer& layer, NodeWriter& writer) {
  const model::LayerSpec& spec = layer.spec;
  NodeAttributes attributes;
  for (const char* const name : {"axis", "size"}) {
    if (spec.attributes.contains(name)) {
      attributes.emplace_back(name, spec.integer(name));
    }
  }
  for (const char* const name : {"alpha", "beta", "bias", "epsilon"}) {
    if (spec.attributes.contains(name)) {
      attributes.emplace_back(name, spec.real(name));
    }
  }
  std::string op = "LRN";
  if (spec.op == "batch_norm") {
    if (spec.text("mode") != "spatial") {
      throw Error(Error::Kind::kUser, "ONNX no longer has a BatchNormalization per activation");
    }
    op = "BatchNormalization";
  } else if (spec.op == "layer_norm") {
    op = "LayerNormalization";
  } else if (spec.op == "rms_norm") {
    op = "RMSNormalization";
    writer.require_opset(23);
  } else if (spec.op == "instance_norm") {
    op = "InstanceNormalization";
  } else if (spec.op == "group_norm") {
    op = "GroupNormalization";
    attributes.emplace_back("num_groups", spec.integer("groups"));
    writer.require_opset(21);
  }
  writer.add(op, layer.inputs, layer.outputs, attributes);
}

}  // namespace plumb::onnxruntime
