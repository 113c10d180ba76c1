// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include "harness/base/limited_call.hpp"
#include "harness/model/onnx/onnx_reader.hpp"

namespace plumb::model {
namespace {

using namespace std::chrono_literals;

TEST(RuleTime, of_a_rule_that_never_ends_is_limited) {
  const std::string domain = "plumb.test";
  onnx::OpSchemaRegistry::DomainToVersionRange::Instance().AddDomainToVersion(domain, 1, 1);
  onnx::RegisterSchema(onnx::OpSchema("Endless", __FILE__, __LINE__)
                           .SetDomain(domain)
                           .SinceVersion(1)
                           .Input(0, "x", "", "T")
                           .Output(0, "y", "", "T")
                           .TypeConstraint("T", {"tensor(float)"}, "")
                           .TypeAndShapeInferenceFunction([](onnx::InferenceContext&) {
                             const volatile bool forever = true;
                             while (forever) {
                             }
                           }));
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::OperatorSetIdProto& opset = *model.add_opset_import();
  opset.set_domain(domain);
  opset.set_version(1);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("g");
  onnx::ValueInfoProto& input = *graph.add_input();
  input.set_name("x");
  input.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  input.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(4);
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type("Endless");
  node.set_domain(domain);
  node.set_name("first");
  node.add_input("x");
  node.add_output("y");
  graph.add_output()->set_name("y");
  EXPECT_EXIT(
      {
        limit_calls(100ms);
        static_cast<void>(read_graph(model));
      },
      testing::ExitedWithCode(2),
      "error: the onnx library's rule of Endless for node 'first' did not end within 100 ms");
}

}  // namespace
}  // namespace plumb::model
