// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <array>

#include "harness/base/error.hpp"
#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/models.hpp"

namespace plumb::zoo {
namespace {

/// One column of Table 1 of He et al. 2015 (arXiv 1512.03385).
struct Depth {
  int layers;
  bool bottleneck;
  std::array<int, 4> blocks;
};

constexpr std::array<Depth, 5> kDepths{{{18, false, {2, 2, 2, 2}},
                                        {34, false, {3, 4, 6, 3}},
                                        {50, true, {3, 4, 6, 3}},
                                        {101, true, {3, 4, 23, 3}},
                                        {152, true, {3, 8, 36, 3}}}};

const Depth& column(int layers) {
  for (const Depth& depth : kDepths) {
    if (depth.layers == layers) {
      return depth;
    }
  }
  throw Error(Error::Kind::kInternal, "no resnet of depth " + std::to_string(layers));
}

/// Appends a bottleneck block of GluonCV's v1, which differs from torchvision's. The stride is on
/// the first 1×1 convolution. The two 1×1 convolutions have a bias although a BatchNorm follows.
Wire bottleneck_v1(const Wire& x, std::int64_t channels, std::int64_t stride, bool downsample) {
  const Wire body = x.conv({.filters = channels / 4, .stride = stride, .bias = true})
                        .batch_norm()
                        .relu()
                        .conv({.filters = channels / 4, .kernel = 3, .pad = 1})
                        .batch_norm()
                        .relu()
                        .conv({.filters = channels, .bias = true})
                        .batch_norm();
  const Wire shortcut =
      downsample ? x.conv({.filters = channels, .stride = stride}).batch_norm() : x;
  return body.add(shortcut).relu();
}

/// Appends a bottleneck block of version 1.5: the stride is on the 3×3 convolution, and no
/// convolution has a bias.
Wire bottleneck_v1_5(const Wire& x, std::int64_t channels, std::int64_t stride, bool downsample) {
  const Wire body = x.conv({.filters = channels / 4})
                        .batch_norm()
                        .relu()
                        .conv({.filters = channels / 4, .kernel = 3, .stride = stride, .pad = 1})
                        .batch_norm()
                        .relu()
                        .conv({.filters = channels})
                        .batch_norm();
  const Wire shortcut =
      downsample ? x.conv({.filters = channels, .stride = stride}).batch_norm() : x;
  return body.add(shortcut).relu();
}

Wire basic_v1(const Wire& x, std::int64_t channels, std::int64_t stride, bool downsample) {
  const Wire shortcut =
      downsample ? x.conv({.filters = channels, .stride = stride}).batch_norm() : x;
  const Wire body = x.conv({.filters = channels, .kernel = 3, .stride = stride, .pad = 1})
                        .batch_norm()
                        .relu()
                        .conv({.filters = channels, .kernel = 3, .pad = 1})
                        .batch_norm();
  return shortcut.add(body).relu();
}

Wire bottleneck_v2(const Wire& x, std::int64_t channels, std::int64_t stride, bool downsample) {
  const Wire active = x.batch_norm().relu();
  const Wire body = active.conv({.filters = channels / 4})
                        .batch_norm()
                        .relu()
                        .conv({.filters = channels / 4, .kernel = 3, .stride = stride, .pad = 1})
                        .batch_norm()
                        .relu()
                        .conv({.filters = channels});
  return body.add(downsample ? active.conv({.filters = channels, .stride = stride}) : x);
}

Wire basic_v2(const Wire& x, std::int64_t channels, std::int64_t stride, bool downsample) {
  const Wire active = x.batch_norm().relu();
  const Wire body = active.conv({.filters = channels, .kernel = 3, .stride = stride, .pad = 1})
                        .batch_norm()
                        .relu()
                        .conv({.filters = channels, .kernel = 3, .pad = 1});
  return body.add(downsample ? active.conv({.filters = channels, .stride = stride}) : x);
}

using Block = Wire (*)(const Wire&, std::int64_t channels, std::int64_t stride, bool downsample);

/// Appends conv2_x … conv5_x of Table 1.
Wire stages(GraphBuilder& net, Wire x, const Depth& depth, Block block) {
  std::int64_t channels = depth.bottleneck ? 256 : 64;
  for (std::size_t stage = 0; stage < depth.blocks.size(); ++stage, channels *= 2) {
    net.enter("stage" + std::to_string(stage + 1) + "_");
    for (int i = 0; i < depth.blocks[stage]; ++i) {
      const bool downsample = i == 0 && x.shape()[1] != channels;
      x = block(x, channels, i == 0 && stage > 0 ? 2 : 1, downsample);
    }
  }
  net.enter("");
  return x;
}

/// Appends conv1 and the stages, and the classifier.
onnx::ModelProto finish_v1(GraphBuilder& net, const Wire& image, const Depth& depth, Block block) {
  const Wire x = image.conv({.filters = 64, .kernel = 7, .stride = 2, .pad = 3})
                     .batch_norm()
                     .relu()
                     .max_pool({.kernel = 3, .stride = 2, .pads = {1, 1, 1, 1}});
  net.output(stages(net, x, depth, block).global_average_pool().flatten().gemm(1000));
  return net.finish();
}

}  // namespace

onnx::ModelProto resnet_v1(int depth, const Sizes& sizes) {
  const Depth& table = column(depth);
  GraphBuilder net("resnet" + std::to_string(depth) + "-v1", 7);
  const Wire image = net.input("data", {sizes.batch, 3, sizes["image"], sizes["image"]});
  return finish_v1(net, image, table, table.bottleneck ? bottleneck_v1 : basic_v1);
}

onnx::ModelProto resnet50_v1_5(const Sizes& sizes) {
  GraphBuilder net("resnet50-v1.5", 17);
  const Wire image = net.input("input", {sizes.batch, 3, sizes["image"], sizes["image"]});
  return finish_v1(net, image, column(50), bottleneck_v1_5);
}

onnx::ModelProto resnet_v2(int depth, const Sizes& sizes) {
  const Depth& table = column(depth);
  GraphBuilder net("resnet" + std::to_string(depth) + "-v2", 7);
  Wire x = net.input("data", {sizes.batch, 3, sizes["image"], sizes["image"]})
               .batch_norm()
               .conv({.filters = 64, .kernel = 7, .stride = 2, .pad = 3})
               .batch_norm()
               .relu()
               .max_pool({.kernel = 3, .stride = 2, .pads = {1, 1, 1, 1}});
  x = stages(net, x, table, table.bottleneck ? bottleneck_v2 : basic_v2);
  net.output(x.batch_norm().relu().global_average_pool().reshape({0, -1}).gemm(1000));
  return net.finish();
}

}  // namespace plumb::zoo
