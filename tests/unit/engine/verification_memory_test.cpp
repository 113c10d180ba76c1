// SPDX-License-Identifier: Apache-2.0
// What executing and verifying a model takes beside its program.
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/model/onnx/onnx_reader.hpp"
#include "runners/engine/exec/reference_comparison.hpp"
#include "runners/engine/exec/requested_model.hpp"
#include "runners/engine/exec/this_process.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb::engine {
namespace {

onnx::ModelProto parsed_model(const char* graph) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(
      model, (std::string("<ir_version: 8, opset_import: [\"\": 17]> ") + graph).c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return model;
}

constexpr const char* kBranches =
    "g (float[1,64] x) => (float[1,64] s) { y = Relu(x) z = Relu(y) s = Add(y, z) }";

// A tensor has 256 bytes, and 512 in float64. The sum takes the most: y, z and itself, in both.
TEST(VerificationMemory, of_the_reference_is_what_is_still_read_and_one_layer) {
  const model::Graph graph = model::read_graph(parsed_model(kBranches));
  EXPECT_EQ(reference_memory(graph, graph.inputs), Bytes{256 + 256 + 3 * 512 + 256});
}

// y is an output, an operand of two layers, and read for the last time after both.
TEST(VerificationMemory, keeps_what_is_read_more_than_once) {
  const model::Graph graph = model::read_graph(parsed_model(
      "g (float[4] x) => (float[4] y, float[4] s) { y = Relu(x) z = Relu(y) s = Add(y, z) }"));
  const model::ValueId input = graph.inputs.at(0);
  const std::vector<double> numbers{-1.0, 2.0, -3.0, 4.0};
  std::vector<model::Tensor> outputs;
  const results::Outcome outcome = reference_model_outputs(
      graph, {{input, tensor_from(graph.values[input].type, numbers)}}, outputs);
  ASSERT_TRUE(outcome.ok()) << outcome.reason;
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(read_numbers(outputs[0]), (std::vector<double>{0.0, 2.0, 0.0, 4.0}));
  EXPECT_EQ(read_numbers(outputs[1]), (std::vector<double>{0.0, 4.0, 0.0, 8.0}));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(VerificationMemory, has_the_weights_of_a_filled_model_once) {
  constexpr std::int64_t kSide = 4096;
  constexpr auto kSize = static_cast<double>(kSide * kSide) * sizeof(float);
  onnx::ModelProto file =
      parsed_model("g (float[1,4096] x) => (float[1,4096] y) { y = MatMul(x, w) }");
  onnx::TensorProto& weights = *file.mutable_graph()->add_initializer();
  weights.set_name("w");
  weights.set_data_type(onnx::TensorProto::FLOAT);
  weights.add_dims(kSide);
  weights.add_dims(kSide);
  worker::ExecuteRequest request;
  request.model = file.SerializeAsString();
  RequestedModel model(request);
  const std::optional<Bytes> before = resident_memory();
  ASSERT_TRUE(before.has_value());
  model.fill();
  EXPECT_NEAR(static_cast<double>(resident_memory()->value - before->value), kSize, 0.1 * kSize);
}
#endif

}  // namespace
}  // namespace plumb::engine
