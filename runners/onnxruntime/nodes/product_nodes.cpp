// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "harness/base/error.hpp"
#include "runners/onnxruntime/nodes/node_writer.hpp"

namespace plumb::onnxruntime {
namespace {

constexpr std::size_t kMatmulPoints = 2;  // position of the first zero point
constexpr std::size_t kConvPoints = 3;

/// Puts a layer's outputs where ONNX has them. `letters` says which of `all` there are.
Names placed_outputs(const NodeWriter::Layer& layer,
                     std::string_view letters,
                     std::string_view all) {
  Names outputs(all.size());
  for (std::size_t i = 0; i < letters.size(); ++i) {
    outputs[all.find(letters[i])] = layer.outputs[i];
  }
  return outputs;
}

/// Positions of an 8-bit product's operands that quantise.
struct Quantisers {
  std::size_t points;  // a, b
  [[nodiscard]] std::size_t scale(std::size_t side) const { return points + 2 + side; }
  [[nodiscard]] std::size_t result_scale() const { return points + 4; }
  [[nodiscard]] std::size_t result_point() const { return points + 5; }
};

/// Returns a zero point, or zeros of a type and of the extents of a scale where it is left out.
std::string zero_point(const NodeWriter::Layer& layer,
                       std::size_t index,
                       model::DataType type,
                       std::size_t scale,
                       NodeWriter& writer) {
  const std::string given = operand(layer, index);
  return given.empty() ? writer.zeros({type, layer.spec.inputs[scale]->dims, true}) : given;
}

/// Writes an 8-bit product as MatMulInteger or ConvInteger where it has no scales, and as
/// QLinearMatMul or QLinearConv where it has all. ONNX has no operator for what lies between.
void write_integer_product(const NodeWriter::Layer& layer,
                           const Quantisers& at,
                           const std::array<std::string_view, 2>& ops,
                           const std::string& bias,
                           const NodeAttributes& attributes,
                           NodeWriter& writer) {
  const model::LayerSpec& spec = layer.spec;
  const bool plain = !spec.has_input(at.scale(0)) && !spec.has_input(at.result_scale());
  const bool whole = spec.has_input(at.scale(0)) && spec.has_input(at.scale(1)) &&
                     spec.has_input(at.result_scale()) && spec.epilogue.empty();
  if (plain && bias.empty()) {
    writer.add(ops[0],
               {layer.inputs[0],
                layer.inputs[1],
                operand(layer, at.points),
                operand(layer, at.points + 1)},
               layer.outputs,
               attributes);
    return;
  }
  const bool bias_of_accumulators = bias.empty() || spec.inputs[2]->dtype == model::DataType::kS32;
  if (!whole || !bias_of_accumulators) {
    throw Error(Error::Kind::kUser, "no ONNX operator is an 8-bit product scaled in this way");
  }
  Names inputs;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    inputs.push_back(layer.inputs[side]);
    inputs.push_back(operand(layer, at.scale(side)));
    inputs.push_back(
        zero_point(layer, at.points + side, spec.inputs[side]->dtype, at.scale(side), writer));
  }
  inputs.push_back(operand(layer, at.result_scale()));
  inputs.push_back(
      zero_point(layer, at.result_point(), spec.outputs[0].dtype, at.result_scale(), writer));
  inputs.push_back(bias);
  writer.add(ops[1], inputs, layer.outputs, attributes);
}

}  // namespace

void write_gemm(const NodeWriter::Layer& layer, NodeWriter& writer) {
  writer.add("Gemm",
             {layer.inputs[0], layer.inputs[1], operand(layer, 2)},
             layer.outputs,
             {{"alpha", layer.spec.real("alpha")},
              {"beta", layer.spec.real("beta")},
              {"transA", layer.spec.integer("trans_a")},
              {"transB", layer.spec.integer("trans_b")}});
}

void write_attention(const NodeWriter::Layer& layer, NodeWriter& writer) {
  const model::LayerSpec& spec = layer.spec;
  if (spec.real("softcap") != 0.0 && spec.has_input(3)) {
    throw Error(
        Error::Kind::kUser,
        "versions of the runtime apply the cap and the mask of an attention in either order");
  }
  if (spec.has_input(3) && spec.inputs[3]->dtype == model::DataType::kBool) {
    throw Error(Error::Kind::kUser,
                "the runtime's attention makes NaN of a row that a mask of booleans hides whole");
  }
  NodeAttributes attributes{{"is_causal", spec.integer("causal")},
                            {"scale", spec.real("scale")},
                            {"softcap", spec.real("softcap")}};
  if (spec.inputs[0]->dims.size() == 3) {
    attributes.emplace_back("q_num_heads", spec.integer("q_heads"));
    attributes.emplace_back("kv_num_heads", spec.integer("kv_heads"));
  }
  Names inputs;
  for (std::size_t i = 0; i < 6; ++i) {
    inputs.push_back(operand(layer, i));
  }
  writer.require_opset(23);
  writer.add("Attention", inputs, placed_outputs(layer, spec.text("outputs"), "ykv"), attributes);
}

void write_matmul_integer(const NodeWriter::Layer& layer, NodeWriter& writer) {
  write_integer_product(layer, {kMatmulPoints}, {"MatMulInteger", "QLinearMatMul"}, "", {}, writer);
}

void write_conv_integer(const NodeWriter::Layer& layer, NodeWriter& writer) {
  write_integer_product(layer,
                        {kConvPoints},
                        {"ConvInteger", "QLinearConv"},
                        operand(layer, 2),
                        {{"dilations", layer.spec.integers("dilations")},
                         {"group", layer.spec.integer("group")},
                         {"pads", layer.spec.integers("pads")},
                         {"strides", layer.spec.integers("strides")}},
                        writer);
}

void write_quantize(const NodeWriter::Layer& layer, NodeWriter& writer) {
  const bool to_integers = layer.spec.op == "quantize";
  std::string point = operand(layer, 2);
  if (point.empty() && to_integers) {  // it says the type of the result
    point = zero_point(layer, 2, layer.spec.outputs[0].dtype, 1, writer);
  }
  NodeAttributes attributes;
  if (!layer.spec.inputs[1]->dims.empty()) {
    attributes.emplace_back("axis", layer.spec.integer("axis"));
  }
  writer.add(to_integers ? "QuantizeLinear" : "DequantizeLinear",
             {layer.inputs[0], layer.inputs[1], point},
             layer.outputs,
             attributes);
}

void write_recurrent(const NodeWriter::Layer& layer, NodeWriter& writer) {
  const model::LayerSpec& spec = layer.spec;
  const std::string& direction = spec.text("direction");
  NodeAttributes attributes{{"direction", direction},
                            {"hidden_size", spec.inputs[2]->dims.back()},
                            {"layout", spec.integer("layout")}};
  std::string op = spec.op;
  std::transform(op.begin(), op.end(), op.begin(), [](unsigned char letter) {
    return static_cast<char>(std::toupper(letter));
  });
  if (spec.op == "rnn") {
    std::string fn = spec.text("fn");
    fn[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(fn[0])));
    attributes.emplace_back("activations", Names(direction == "bidirectional" ? 2 : 1, fn));
  } else if (spec.op == "gru") {
    attributes.emplace_back("linear_before_reset", spec.integer("linear_before_reset"));
  }
  // Behind the bias ONNX has the lengths of the sequences, which a layer never has.
  Names inputs;
  for (std::size_t i = 0; i < 7; ++i) {
    if (i == 4) {
      inputs.emplace_back();
    }
    inputs.push_back(operand(layer, i));
  }
  writer.add(op, inputs, placed_outputs(layer, spec.text("outputs"), "yhc"), attributes);
}

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

void write_conv(const NodeWriter::Layer& layer, NodeWriter& writer) {
  writer.add("Conv",
             {layer.inputs[0], layer.inputs[1], operand(layer, 2)},
             layer.outputs,
             window_attributes(layer.spec));
}

void write_conv_transpose(const NodeWriter::Layer& layer, NodeWriter& writer) {
  NodeAttributes attributes = window_attributes(layer.spec);
  attributes.emplace_back("output_padding", layer.spec.integers("output_padding"));
  writer.add("ConvTranspose",
             {layer.inputs[0], layer.inputs[1], operand(layer, 2)},
             layer.outputs,
             attributes);
}

void write_pool(const NodeWriter::Layer& layer, NodeWriter& writer) {
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

void write_normalization(const NodeWriter::Layer& layer, NodeWriter& writer) {
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
