// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/trace/operator_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace plumb::analysis {
namespace {

/// ONNX operators that an operation executes, between spaces.
constexpr std::array kOperators = std::to_array<std::pair<std::string_view, std::string_view>>({
    // oneDNN
    {"convolution", " Conv ConvInteger QLinearConv "},
    {"deconvolution", " ConvTranspose "},
    {"inner_product", " Gemm MatMul "},
    {"matmul", " Gemm MatMul MatMulInteger QLinearMatMul "},
    {"pooling", " MaxPool AveragePool GlobalAveragePool GlobalMaxPool "},
    {"pooling_v2", " MaxPool AveragePool GlobalAveragePool GlobalMaxPool "},
    {"batch_normalization", " BatchNormalization "},
    {"layer_normalization", " LayerNormalization "},
    {"eltwise", " Relu LeakyRelu Clip Sigmoid Tanh Elu Gelu Exp Sqrt Abs Log Erf HardSwish Pow "},
    {"binary", " Add Sub Mul Div Max Min "},
    {"sum", " Add Sum "},
    {"lrn", " LRN "},
    {"softmax", " Softmax LogSoftmax "},
    {"softmax_v2", " Softmax LogSoftmax "},
    {"concat", " Concat "},
    {"resampling", " Resize Upsample "},
    {"reduction", " ReduceMean ReduceSum ReduceMax GlobalAveragePool "},
    {"shuffle", " Transpose "},
    // ONNX Runtime: operators that are none of ONNX's
    {"FusedConv", " Conv "},
    {"NchwcConv", " Conv "},
    {"FusedGemm", " Gemm "},
    {"Gemm", " MatMul "},                    // with the addition behind it
    {"GlobalAveragePool", " AveragePool "},  // over the whole image
    {"GlobalMaxPool", " MaxPool "},
    {"Gelu", " Erf "},
    {"FusedMatMul", " MatMul "},
    {"BiasGelu", " Add Gelu Erf "},
    {"QuickGelu", " Mul Sigmoid "},
    {"SkipLayerNormalization", " LayerNormalization "},
    // PyTorch
    {"aten::conv2d", " Conv "},
    {"aten::conv1d", " Conv "},
    {"aten::convolution", " Conv "},
    {"aten::conv_transpose2d", " ConvTranspose "},
    {"aten::linear", " Gemm MatMul "},
    {"aten::addmm", " Gemm MatMul "},
    {"aten::matmul", " MatMul Gemm "},
    {"aten::mm", " MatMul Gemm "},
    {"aten::bmm", " MatMul "},
    {"aten::batch_norm", " BatchNormalization "},
    {"aten::_native_batch_norm_legit_no_training", " BatchNormalization "},
    {"aten::layer_norm", " LayerNormalization "},
    {"aten::native_layer_norm", " LayerNormalization "},
    {"aten::relu", " Relu "},
    {"aten::relu_", " Relu "},
    {"aten::relu6", " Clip "},
    {"aten::hardtanh", " Clip "},
    {"aten::hardtanh_", " Clip "},
    {"aten::clamp", " Clip "},
    {"aten::sigmoid", " Sigmoid "},
    {"aten::tanh", " Tanh "},
    {"aten::erf", " Erf "},
    {"aten::gelu", " Gelu "},
    {"aten::leaky_relu", " LeakyRelu "},
    {"aten::elu", " Elu "},
    {"aten::prelu", " PRelu "},
    {"aten::hardswish", " HardSwish "},
    {"aten::exp", " Exp "},
    {"aten::add", " Add "},
    {"aten::add_", " Add "},
    {"aten::sub", " Sub "},
    {"aten::mul", " Mul "},
    {"aten::div", " Div "},
    {"aten::pow", " Pow "},
    {"aten::sqrt", " Sqrt "},
    {"aten::max_pool2d", " MaxPool "},
    {"aten::max_pool2d_with_indices", " MaxPool "},
    {"aten::amax", " GlobalMaxPool ReduceMax "},
    {"aten::avg_pool2d", " AveragePool "},
    {"aten::avg_pool3d", " LRN "},
    {"aten::_adaptive_avg_pool2d", " AveragePool GlobalAveragePool "},
    {"aten::adaptive_avg_pool2d", " AveragePool GlobalAveragePool "},
    {"aten::mean", " ReduceMean GlobalAveragePool "},
    {"aten::sum", " ReduceSum "},
    {"aten::softmax", " Softmax "},
    {"aten::_softmax", " Softmax "},
    {"aten::_log_softmax", " LogSoftmax "},
    {"aten::log_softmax", " LogSoftmax "},
    {"aten::cat", " Concat "},
    {"aten::split", " Split "},
    {"aten::flatten", " Flatten Reshape "},
    {"aten::reshape", " Reshape Flatten "},
    {"aten::view", " Reshape Flatten "},
    {"aten::unsqueeze", " Unsqueeze "},
    {"aten::squeeze", " Squeeze "},
    {"aten::transpose", " Transpose "},
    {"aten::permute", " Transpose "},
    {"aten::dropout", " Dropout "},
    {"aten::embedding", " Gather "},
    {"aten::index_select", " Gather "},
});

constexpr std::string_view kAten = "aten::";

// torch.compile calls a kernel that it makes graph_0_cpp_fused_add_relu_3, or triton_poi_fused_….
constexpr std::string_view kFused = "_fused_";

bool has_operator(std::string_view operators, std::string_view op) {
  for (std::size_t at = operators.find(op); at != std::string_view::npos;
       at = operators.find(op, at + 1)) {
    const std::size_t end = at + op.size();
    if (at > 0 && operators[at - 1] == ' ' && end < operators.size() && operators[end] == ' ') {
      return true;
    }
  }
  return false;
}

/// Returns whether one of the operators that a made kernel is called after executes a layer. It may
/// be called after the product before it, which is a call of its own.
bool made_kernel_may_execute(std::string_view kernel, std::string_view op) {
  return std::any_of(kOperators.begin(), kOperators.end(), [&](const auto& row) {
    return row.first.starts_with(kAten) && has_operator(row.second, op) &&
           !has_operator(row.second, "Conv") && !has_operator(row.second, "ConvTranspose") &&
           !has_operator(row.second, "Gemm") && !has_operator(row.second, "MatMul") &&
           kernel.find(fmt::format("_{}_", row.first.substr(kAten.size()))) !=
               std::string_view::npos;
  });
}

std::string_view base_of(std::string_view onnx_op) {
  const std::size_t domain = onnx_op.rfind('.');
  return domain == std::string_view::npos ? onnx_op : onnx_op.substr(domain + 1);
}

}  // namespace

bool is_made_kernel(std::string_view operation) {
  return operation.find(kFused) != std::string_view::npos;
}

bool may_execute(std::string_view operation, std::string_view onnx_op) {
  const std::string_view op = base_of(onnx_op);
  if (operation == op) {
    return true;
  }
  if (is_made_kernel(operation)) {
    return made_kernel_may_execute(operation, op);
  }
  const auto* const row = std::find_if(kOperators.begin(), kOperators.end(), [&](const auto& each) {
    return each.first == operation;
  });
  return row != kOperators.end() && has_operator(row->second, op);
}

}  // namespace plumb::analysis
