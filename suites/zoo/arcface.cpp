// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <array>

#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/models.hpp"

namespace plumb::zoo {
namespace {

constexpr float kEpsilon = 2e-5F;

/// Appends PRelu with one slope for each channel. MXNet holds the slopes in one dimension, so the
/// exporter reshapes them in the graph.
Wire prelu(GraphBuilder& net, const Wire& x) {
  const Wire slope = net.weight(net.next_name("PRelu_gamma", {}), {x.shape()[1]});
  return x.prelu(slope.reshape({1, -1, 1, 1}));
}

/// Appends the improved residual unit of Deng et al. (arXiv 1801.07698, section 3.2):
/// BN-Conv-BN-PReLU-Conv-BN.
Wire unit(GraphBuilder& net, const Wire& x, std::int64_t channels, std::int64_t stride) {
  const Wire wide = x.batch_norm(kEpsilon)
                        .conv({.filters = channels, .kernel = 3, .pad = 1})
                        .batch_norm(kEpsilon);
  const Wire body = prelu(net, wide)
                        .conv({.filters = channels, .kernel = 3, .stride = stride, .pad = 1})
                        .batch_norm(kEpsilon);
  return body.add(
      stride == 1 ? x : x.conv({.filters = channels, .stride = stride}).batch_norm(kEpsilon));
}

}  // namespace

onnx::ModelProto arcface(std::int64_t batch) {
  const std::array<std::int64_t, 4> channels{64, 128, 256, 512};
  const std::array<int, 4> units{3, 13, 30, 3};
  GraphBuilder net("arcface", 8);
  Wire x = net.input("data", {batch, 3, 112, 112}).identity();
  x = x.sub(net.reals("mean", {127.5F})).mul(net.reals("scale", {0.0078125F}));
  x = prelu(net, x.conv({.filters = 64, .kernel = 3, .pad = 1}).batch_norm(kEpsilon));
  for (std::size_t stage = 0; stage < units.size(); ++stage) {
    for (int i = 0; i < units[stage]; ++i) {
      net.enter("stage" + std::to_string(stage + 1) + "_unit" + std::to_string(i + 1) + "_");
      x = unit(net, x, channels[stage], i == 0 ? 2 : 1);
    }
  }
  net.enter("");
  x = x.batch_norm(kEpsilon).dropout(0.4F).flatten();
  net.output(x.gemm(512, "pre_fc1").batch_norm(kEpsilon));
  return net.finish();
}

}  // namespace plumb::zoo
