// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/model/model_text.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <set>

#include "harness/base/error.hpp"

namespace plumb::test {
namespace {

/// Makes what is declared but written by no node a weight of type and shape only, which the syntax
/// cannot say.
void add_absent_weights(onnx::GraphProto& graph) {
  std::set<std::string> written;
  for (const onnx::NodeProto& node : graph.node()) {
    written.insert(node.output().begin(), node.output().end());
  }
  for (const onnx::TensorProto& weight : graph.initializer()) {
    written.insert(weight.name());
  }
  for (const onnx::ValueInfoProto& info : graph.value_info()) {
    if (!written.contains(info.name())) {
      onnx::TensorProto& weight = *graph.add_initializer();
      weight.set_name(info.name());
      weight.set_data_type(info.type().tensor_type().elem_type());
      for (const onnx::TensorShapeProto::Dimension& dim : info.type().tensor_type().shape().dim()) {
        weight.add_dims(dim.dim_value());
      }
    }
  }
}

}  // namespace

model::Graph graph_of_text(std::string_view text, int opset, const model::ReadOptions& options) {
  const std::string whole =
      fmt::format("<ir_version: 8, opset_import: [\"\" : {}]>\n{}", opset, text);
  onnx::ModelProto model;
  const onnx::Common::Status status = onnx::OnnxParser::Parse(model, whole.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  add_absent_weights(*model.mutable_graph());
  return model::read_graph(std::move(model), options);
}

std::string key_of_text(std::string_view text, int opset) {
  const model::Graph graph = graph_of_text(text, opset);
  EXPECT_EQ(graph.layers.size(), 1U);
  return graph.layers.empty() ? std::string() : graph.layers[0].key.text + graph.layers[0].reason;
}

std::string error_of_text(std::string_view text, int opset, const model::ReadOptions& options) {
  try {
    static_cast<void>(graph_of_text(text, opset, options));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser) << error.what();
    return error.what();
  }
  return "no error";
}

}  // namespace plumb::test
