// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/models.hpp"

namespace plumb::zoo {

onnx::ModelProto zfnet512(std::int64_t batch) {
  constexpr float kAlpha = 5e-4F;
  GraphBuilder net("zfnet512", 9);
  Wire x = net.input("gpu_0/data_0", {batch, 3, 224, 224});
  x = x.conv({.filters = 96, .kernel = 7, .stride = 2, .bias = true}).relu();
  x = x.lrn(5, kAlpha, 2.0F).max_pool({.kernel = 3, .stride = 2});
  x = x.conv({.filters = 256, .kernel = 5, .stride = 2, .bias = true}).relu();
  x = x.lrn(5, kAlpha, 2.0F).max_pool({.kernel = 3, .stride = 2});
  for (int i = 0; i < 3; ++i) {
    x = x.conv({.filters = 512, .kernel = 3, .pad = 1, .bias = true}).relu();
  }
  x = x.max_pool({.kernel = 2, .stride = 2}).reshape({-1, 18432});
  net.output(x.gemm(4096).relu().gemm(1024).relu().gemm(1000).softmax(1));
  return net.finish();
}

}  // namespace plumb::zoo
