// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <array>

#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/models.hpp"

namespace plumb::zoo {
namespace {

constexpr std::int64_t kGroups = 4;

/// Appends the channel shuffle of Zhang et al. (arXiv 1707.01083, Figure 1).
Wire shuffle(const Wire& x) {
  const Shape& in = x.shape();
  return x.reshape({-1, kGroups, in[1] / kGroups, in[2], in[3]})
      .transpose({0, 2, 1, 3, 4})
      .reshape({-1, in[1], in[2], in[3]});
}

/// Appends the unit of Figure 2b (`stride` 1, added) or 2c (2, joined). The export narrows nothing:
/// its bottleneck is as wide as the body's output.
Wire shuffle_unit(GraphBuilder& net, const Wire& x, std::int64_t channels, std::int64_t stride) {
  const std::int64_t width = stride == 1 ? channels : channels - x.shape()[1];
  const Wire wide = x.conv({.filters = width, .group = kGroups}).batch_norm().relu();
  const Wire body =
      shuffle(wide)
          .conv({.filters = width, .kernel = 3, .stride = stride, .pad = 1, .group = width})
          .batch_norm()
          .conv({.filters = width, .group = kGroups})
          .batch_norm();
  if (stride == 1) {
    return body.sum({x}).relu();
  }
  const Wire shortcut = x.average_pool({.kernel = 3, .stride = stride, .pads = {1, 1, 1, 1}});
  return net.concat({body, shortcut}, 1).relu();
}

}  // namespace

onnx::ModelProto shufflenet(std::int64_t batch) {
  const std::array<int, 3> repeats{4, 8, 4};  // Table 1
  GraphBuilder net("shufflenet", 9);
  Wire x = net.input("gpu_0/data_0", {batch, 3, 224, 224});
  x = x.conv({.filters = 24, .kernel = 3, .stride = 2, .pad = 1, .bias = true}).batch_norm().relu();
  x = x.max_pool({.kernel = 3, .stride = 2, .pads = {1, 1, 1, 1}});
  std::int64_t channels = 136;
  for (std::size_t stage = 0; stage < repeats.size(); ++stage, channels *= 2) {
    net.enter("stage" + std::to_string(stage + 2) + "_");
    for (int i = 0; i < repeats[stage]; ++i) {
      x = shuffle_unit(net, x, channels, i == 0 ? 2 : 1);
    }
  }
  net.enter("");
  net.output(x.average_pool({.kernel = 7}).reshape({-1, 544}).gemm(1000).softmax(1));
  return net.finish();
}

}  // namespace plumb::zoo
