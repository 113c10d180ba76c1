// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <array>

#include "suites/zoo/caffe_scale.hpp"
#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/models.hpp"

namespace plumb::zoo {
namespace {

constexpr std::int64_t kGrowth = 32;

/// Appends the bottleneck layer of Huang et al. (arXiv 1608.06993, section 3).
Wire dense_layer(GraphBuilder& net, const Wire& x) {
  const Wire narrow = batch_norm_scale_relu(net, x).conv({.filters = 4 * kGrowth});
  const Wire grown =
      batch_norm_scale_relu(net, narrow).conv({.filters = kGrowth, .kernel = 3, .pad = 1});
  return net.concat({x, grown}, 1);
}

}  // namespace

onnx::ModelProto densenet121(const Sizes& sizes) {
  const std::array<int, 4> layers{6, 12, 24, 16};
  GraphBuilder net("densenet121", 9);
  Wire x = net.input("data_0", {sizes.batch, 3, sizes["image"], sizes["image"]});
  x = x.conv({.filters = 64, .kernel = 7, .stride = 2, .pad = 3});
  x = batch_norm_scale_relu(net, x).max_pool({.kernel = 3, .stride = 2, .pads = {1, 1, 1, 1}});
  for (std::size_t block = 0; block < layers.size(); ++block) {
    const std::string stage = "conv" + std::to_string(block + 2);
    for (int i = 0; i < layers[block]; ++i) {
      net.enter(stage + "_" + std::to_string(i + 1) + "_");
      x = dense_layer(net, x);
    }
    net.enter(stage + "_blk_");
    x = batch_norm_scale_relu(net, x);
    if (block + 1 < layers.size()) {
      x = x.conv({.filters = x.shape()[1] / 2}).average_pool({.kernel = 2, .stride = 2});
    }
  }
  net.enter("");
  net.output(x.global_average_pool().conv({.filters = 1000, .bias = true}, "fc6"));
  return net.finish();
}

}  // namespace plumb::zoo
