// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/zoo/inferred_shapes.hpp"

#include <onnx/shape_inference/implementation.h>

namespace plumb::zoo {
namespace {

/// Declares what onnx has no rule for any more: an experimental operator's output is like its
/// input.
void declare_image_scalers(onnx::GraphProto& graph) {
  for (const auto& node : graph.node()) {
    if (node.op_type() == "ImageScaler") {
      auto& value = *graph.add_value_info();
      value = graph.input(0);
      value.set_name(node.output(0));
    }
  }
}

}  // namespace

InferredShapes::InferredShapes(onnx::ModelProto& model) {
  declare_image_scalers(*model.mutable_graph());
  onnx::shape_inference::InferShapes(
      model, onnx::OpSchemaRegistry::Instance(), onnx::ShapeInferenceOptions(true, 1, true));
  for (const auto* list :
       {&model.graph().input(), &model.graph().value_info(), &model.graph().output()}) {
    for (const auto& value : *list) {
      std::vector<std::int64_t> dims;
      bool fixed = value.type().tensor_type().has_shape();
      for (const auto& extent : value.type().tensor_type().shape().dim()) {
        fixed = fixed && extent.has_dim_value();
        dims.push_back(extent.dim_value());
      }
      if (fixed) {
        dims_[value.name()] = std::move(dims);
      }
    }
  }
  dims_[""] = {};  // an input left out
  for (const auto& weight : model.graph().initializer()) {
    dims_[weight.name()] = {weight.dims().begin(), weight.dims().end()};
  }
}

std::string benanza_type(const std::string& op) {
  static const std::map<std::string, std::string> types{{"Add", "ElementWise"},
                                                        {"AveragePool", "Pooling"},
                                                        {"BatchNormalization", "BatchNorm"},
                                                        {"Div", "ElementWise"},
                                                        {"GlobalAveragePool", "GlobalPooling"},
                                                        {"ImageScaler", "Scale"},
                                                        {"LeakyRelu", "Relu"},
                                                        {"MatMul", "Gemm"},
                                                        {"MaxPool", "Pooling"},
                                                        {"Mul", "ElementWise"},
                                                        {"PRelu", "Relu"},
                                                        {"Sub", "ElementWise"},
                                                        {"Sum", "ElementWise"}};
  const auto found = types.find(op);
  return found == types.end() ? op : found->second;
}

}  // namespace plumb::zoo
