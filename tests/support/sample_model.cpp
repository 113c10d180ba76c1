// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sample_model.hpp"

#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <stdexcept>

namespace plumb {

onnx::ModelProto Sample::model() const {
  onnx::ModelProto model;
  const std::string whole = "<ir_version: 8, opset_import: [\"\": 17]>" + text;
  const auto status = onnx::OnnxParser::Parse(model, whole.c_str());
  if (!status.IsOK()) {
    throw std::runtime_error(status.ErrorMessage());
  }
  for (const auto& [name, dims] : weights) {
    onnx::TensorProto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    for (const std::int64_t extent : dims) {
      tensor.add_dims(extent);
    }
  }
  return model;
}

worker::ExecuteRequest Sample::request(const worker::ModeRequest& mode) const {
  worker::ExecuteRequest request;
  request.name = "sample";
  request.model = model().SerializeAsString();
  request.modes = {mode};
  return request;
}

Sample mixed_sample() {
  return {
      "g (float[2,8,8,8] x) => (float[2,10] y) {"
      "  a = Conv<pads=[1,1,1,1]>(x, w1, b1)  b = Relu(a)"
      "  c = Conv(b, w2)  d = Relu(c)  e = Conv<pads=[1,1,1,1], group=16>(b, w3)  f = "
      "Concat<axis=1>(d, e)"
      "  h = MaxPool<kernel_shape=[2,2], strides=[2,2]>(f)  i = Conv(h, w4)  j = Relu(i)"
      "  k = Conv<pads=[1,1,1,1]>(j, w5)  l = Add(k, j)  m = Relu(l)"
      "  n = Flatten(m)  y = Gemm<transB=1>(n, w6, b6)}",
      {{"w1", {16, 8, 3, 3}},
       {"b1", {16}},
       {"w2", {8, 16, 1, 1}},
       {"w3", {16, 1, 3, 3}},
       {"w4", {12, 24, 1, 1}},
       {"w5", {12, 12, 3, 3}},
       {"w6", {10, 192}},
       {"b6", {10}}}};
}

}  // namespace plumb
