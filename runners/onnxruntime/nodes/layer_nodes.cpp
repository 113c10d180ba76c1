// SPDX-License-Identifier: Apache-2.0
#include "runners/onnxruntime/nodes/layer_nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/model/key/op_schema.hpp"

namespace plumb::onnxruntime {
namespace {

constexpr std::array kRules = std::to_array<std::pair<std::string_view, NodeRule>>({
    {"arg_reduce", write_arg_reduce},
    {"attention", write_attention},
    {"average_pool", write_pool},
    {"batch_norm", write_normalization},
    {"binary", write_binary},
    {"cast", write_cast},
    {"concat", write_concat},
    {"conv", write_conv},
    {"conv_integer", write_conv_integer},
    {"conv_transpose", write_conv_transpose},
    {"depth_to_space", write_depth_to_space},
    {"dequantize", write_quantize},
    {"eltwise", write_eltwise},
    {"expand", write_expand},
    {"gather", write_gather},
    {"gemm", write_gemm},
    {"group_norm", write_normalization},
    {"gru", write_recurrent},
    {"instance_norm", write_normalization},
    {"layer_norm", write_normalization},
    {"lp_pool", write_pool},
    {"lrn", write_normalization},
    {"lstm", write_recurrent},
    {"matmul_integer", write_matmul_integer},
    {"max_pool", write_pool},
    {"pad", write_pad},
    {"quantize", write_quantize},
    {"reduce", write_reduce},
    {"resize", write_resize},
    {"rms_norm", write_normalization},
    {"rnn", write_recurrent},
    {"slice", write_slice},
    {"softmax", write_softmax},
    {"space_to_depth", write_space_to_depth},
    {"split", write_split},
    {"tile", write_tile},
    {"transpose", write_transpose},
    {"view", write_view},
});

// Operators of ONNX without attributes, whose operands are the layer's.
constexpr std::array kSameOperators = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"matmul", "MatMul"},
    {"max", "Max"},
    {"min", "Min"},
    {"prelu", "PRelu"},
    {"sum", "Sum"},
    {"where", "Where"},
});

template <typename Table>
auto find_row(const Table& table, std::string_view op) {
  return std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.first == op; });
}

/// Returns the number of operands that the operator itself takes. Others are of fused steps.
std::size_t own_operands(const model::LayerSpec& spec) {
  std::size_t count = spec.inputs.size();
  for (const model::Epilogue& step : spec.epilogue) {
    count = std::min(count, step.operand.value_or(count));
  }
  return count;
}

void write_operator(NamedLayer layer, NodeWriter& writer) {
  if (layer.spec.math == model::MathClass::kTf32) {
    throw Error(Error::Kind::kUser, "no kernel of ONNX Runtime on a CPU multiplies in TF32");
  }
  layer.inputs.resize(own_operands(layer.spec));
  if (const auto* const rule = find_row(kRules, layer.spec.op); rule != kRules.end()) {
    rule->second(layer, writer);
  } else if (const auto* const same = find_row(kSameOperators, layer.spec.op);
             same != kSameOperators.end()) {
    writer.add(same->second, layer.inputs, layer.outputs);
  } else {
    throw Error(Error::Kind::kUser, fmt::format("no ONNX operator is a '{}'", layer.spec.op));
  }
}

}  // namespace

std::string operand(const NamedLayer& layer, std::size_t index) {
  return index < layer.inputs.size() ? layer.inputs[index] : std::string();
}

void write_nodes(const NamedLayer& layer, NodeWriter& writer) {
  const model::LayerSpec& spec = layer.spec;
  NamedLayer own = layer;
  if (!spec.epilogue.empty()) {
    own.outputs.front() += "_0";
  }
  write_operator(own, writer);
  std::string value = own.outputs.front();
  for (std::size_t i = 0; i < spec.epilogue.size(); ++i) {
    const model::Epilogue& step = spec.epilogue[i];
    const bool last = i + 1 == spec.epilogue.size();
    const std::string next =
        last ? layer.outputs.front() : fmt::format("{}_{}", layer.outputs.front(), i + 1);
    if (!step.operand) {
      write_function(step.fn, step.parameters, spec.outputs[0].dtype, value, next, writer);
    } else if (model::is_binary_function(step.fn)) {
      write_binary_function(step.fn, {value, layer.inputs[*step.operand]}, next, writer);
    } else {
      throw Error(Error::Kind::kUser, fmt::format("no ONNX operator computes '{}'", step.fn));
    }
    value = next;
  }
}

}  // namespace plumb::onnxruntime
