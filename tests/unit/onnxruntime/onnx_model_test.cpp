// SPDX-License-Identifier: Apache-2.0
#include "runners/onnxruntime/nodes/onnx_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "harness/base/error.hpp"
#include "harness/model/onnx/onnx_reader.hpp"
#include "suites/zoo/zoo.hpp"

namespace plumb::onnxruntime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kConvolution =
    "v1:conv;in=f32[1,8,6,6],f32[16,8,3,3]c,-,f32[1,16,6,6];out=f32[1,16,6,6];acc=f32;math=strict;"
    "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1];epilogue=add@3,clip(0.0,6.0)";

onnx::ModelProto parse(const std::string& bytes) {
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(bytes));
  return proto;
}

std::vector<std::string> operators(const onnx::ModelProto& proto) {
  std::vector<std::string> result;
  for (const onnx::NodeProto& node : proto.graph().node()) {
    result.push_back(node.op_type());
  }
  return result;
}

TEST(OnnxModel, has_a_node_for_a_layer_and_one_for_each_fused_step) {
  const OnnxModel model = write_layer(model::parse_key({kConvolution}));
  const onnx::ModelProto proto = parse(model.bytes);
  EXPECT_THAT(operators(proto), ElementsAre("Conv", "Add", "Clip"));
  EXPECT_EQ(proto.graph().input_size(), 2);  // x and what is added
  EXPECT_EQ(proto.graph().output(0).name(), "y0");
  EXPECT_EQ(model.weight_bytes().value, 16 * 8 * 9 * 4);
  EXPECT_EQ(parse(model.with_weights_as_inputs()).graph().input_size(), 3);
}

TEST(OnnxModel, carries_its_weights_as_initializers) {
  const OnnxModel model = write_layer(model::parse_key({kConvolution}));
  std::vector<model::Tensor> values(4);
  values[1].type = *model::parse_key({kConvolution}).inputs[1];
  values[1].data.resize(static_cast<std::size_t>(model.weight_bytes().value), std::byte{7});
  const onnx::ModelProto proto = parse(model.with_weights(values));
  const auto& initializers = proto.graph().initializer();
  ASSERT_EQ(initializers.rbegin()->name(), "x1");
  EXPECT_EQ(initializers.rbegin()->raw_data().size(), values[1].data.size());
  EXPECT_EQ(initializers.rbegin()->raw_data().back(), 7);
}

TEST(OnnxModel, shapes_of_one_model_are_joined_where_the_nodes_are_the_same) {
  const auto written = [](const char* name, std::int64_t batch) {
    std::vector<model::ValueId> values;
    return write_model(model::read_graph(zoo::find(name)->build(batch, {})), values);
  };
  for (const char* const name : {"lenet", "resnet18-v1", "shufflenet"}) {
    const std::vector<OnnxModel> models{written(name, 1), written(name, 8)};
    const std::optional<std::string> joined = join_shapes(models);
    ASSERT_TRUE(joined) << name;
    const onnx::ModelProto proto = parse(*joined);
    const onnx::TensorShapeProto& input = proto.graph().input(0).type().tensor_type().shape();
    EXPECT_FALSE(input.dim(0).has_dim_value());
    EXPECT_TRUE(input.dim(1).has_dim_value());
  }
  EXPECT_FALSE(join_shapes(std::vector{written("lenet", 1), written("resnet18-v1", 1)}));
}

TEST(OnnxModel, refuses_weights_that_a_message_cannot_hold) {
  const OnnxModel model = write_layer(model::parse_key(
      {"v1:matmul;in=f32[1,32768],f32[32768,32768]c;out=f32[1,32768];acc=f32;math=strict"}));
  try {
    static_cast<void>(model.with_weights(std::vector<model::Tensor>(2)));
    FAIL() << "4 GiB of weights";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("4294967296 bytes"));
  }
}

TEST(OnnxModel, refuses_what_onnx_has_no_operator_for) {
  for (const char* const key :
       {"v1:eltwise_backward;in=f32[3,50],f32[3,50];out=f32[3,50];acc=f32;math=strict;fn=relu;"
        "parameters=[]",
        "v1:gemm;in=f32[6,24],f32[24,32],-,f32[6,32];out=f32[6,32];acc=f32;math=strict;alpha=1.0;"
        "beta=1.0;trans_a=0;trans_b=0;epilogue=relu_backward@3",
        "v1:matmul;in=f32[2,3],f32[3,4]c;out=f32[2,4];acc=f32;math=tf32"}) {
    EXPECT_THROW(static_cast<void>(write_layer(model::parse_key({key}))), Error) << key;
  }
}

// What is written is read as the same layers again.
TEST(OnnxModel, keeps_every_layer_of_a_model) {
  for (const char* const name : {"lenet", "squeezenet1.1", "mobilenet-v2", "shufflenet"}) {
    const model::Graph graph = model::read_graph(zoo::find(name)->build(2, {}));
    std::vector<model::ValueId> operands;
    OnnxModel model = write_model(graph, operands);
    ASSERT_EQ(operands.size(), model.operands.size());
    std::vector<model::Tensor> values;
    for (const OnnxModel::Value& operand : model.operands) {
      values.push_back({operand.type, {}});
      if (operand.type.constant) {
        values.back().data.resize(static_cast<std::size_t>(model::byte_size(operand.type).value));
      }
    }
    const model::Graph again = model::read_graph(parse(model.with_weights(values)));
    std::vector<std::string> keys;
    std::vector<std::string> keys_again;
    for (const model::Layer& layer : graph.layers) {
      if (layer.role == model::Layer::Role::kCompute) {
        keys.push_back(layer.key.text);
      }
    }
    for (const model::Layer& layer : again.layers) {
      if (layer.role == model::Layer::Role::kCompute) {
        keys_again.push_back(layer.key.text);
      }
    }
    EXPECT_EQ(keys_again, keys) << name;
  }
}

}  // namespace
}  // namespace plumb::onnxruntime
