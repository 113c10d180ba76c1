// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <array>

#include "harness/base/error.hpp"
#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/models.hpp"

namespace plumb::zoo {

onnx::ModelProto vgg(int depth, bool batch_norm, std::int64_t batch) {
  PLUMB_CHECK(depth == 16 || depth == 19);
  const int last = depth == 16 ? 3 : 4;
  const std::array<std::int64_t, 5> channels{64, 128, 256, 512, 512};
  const std::array<int, 5> convolutions{2, 2, last, last, last};

  GraphBuilder net("vgg" + std::to_string(depth) + (batch_norm ? "-bn" : ""), 7);
  Wire x = net.input("data", {batch, 3, 224, 224});
  for (std::size_t stage = 0; stage < channels.size(); ++stage) {
    for (int i = 0; i < convolutions[stage]; ++i) {
      x = x.conv({.filters = channels[stage], .kernel = 3, .pad = 1, .bias = true});
      x = (batch_norm ? x.batch_norm() : x).relu();
    }
    x = x.max_pool({.kernel = 2, .stride = 2});
  }
  // MXNet flattens before every fully connected layer, needed or not.
  x = x.flatten().gemm(4096).relu().dropout(0.5F);
  x = x.flatten().gemm(4096).relu().dropout(0.5F);
  net.output(x.flatten().gemm(1000));
  return net.finish();
}

}  // namespace plumb::zoo
