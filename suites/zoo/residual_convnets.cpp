// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <array>

#include "harness/base/error.hpp"
#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/zoo.hpp"

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

onnx::ModelProto resnet_v1(int depth, const Entry::Sizes& sizes) {
  const Depth& table = column(depth);
  GraphBuilder net("resnet" + std::to_string(depth) + "-v1", 7);
  const Wire image = net.input("data", {sizes.batch, 3, sizes["image"], sizes["image"]});
  return finish_v1(net, image, table, table.bottleneck ? bottleneck_v1 : basic_v1);
}

onnx::ModelProto resnet50_v1_5(const Entry::Sizes& sizes) {
  GraphBuilder net("resnet50-v1.5", 17);
  const Wire image = net.input("input", {sizes.batch, 3, sizes["image"], sizes["image"]});
  return finish_v1(net, image, column(50), bottleneck_v1_5);
}

onnx::ModelProto resnet_v2(int depth, const Entry::Sizes& sizes) {
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

namespace {

/// One row of Table 2 of Sandler et al. (arXiv 1801.04381).
struct Row {
  std::int64_t expansion;
  std::int64_t channels;
  int repeats;
  std::int64_t stride;
};

/// MXNet's model strides at 96 channels where the paper strides at 64.
constexpr std::array<Row, 7> kRows{{{1, 16, 1, 1},
                                    {6, 24, 2, 2},
                                    {6, 32, 3, 2},
                                    {6, 64, 4, 1},
                                    {6, 96, 3, 2},
                                    {6, 160, 3, 2},
                                    {6, 320, 1, 1}}};

Wire inverted_residual(const Wire& x, const Row& row, std::int64_t stride) {
  const std::int64_t hidden = x.shape()[1] * row.expansion;
  const Wire body =
      x.conv({.filters = hidden})
          .batch_norm()
          .relu()
          .conv({.filters = hidden, .kernel = 3, .stride = stride, .pad = 1, .group = hidden})
          .batch_norm()
          .relu()
          .conv({.filters = row.channels})
          .batch_norm();
  return stride == 1 && x.shape()[1] == row.channels ? body.add(x) : body;
}

}  // namespace

onnx::ModelProto mobilenet_v2(const Entry::Sizes& sizes) {
  GraphBuilder net("mobilenet-v2", 7);
  Wire x = net.input("data", {sizes.batch, 3, sizes["image"], sizes["image"]})
               .conv({.filters = 32, .kernel = 3, .stride = 2, .pad = 1})
               .batch_norm()
               .relu();
  int block = 0;
  for (const Row& row : kRows) {
    for (int i = 0; i < row.repeats; ++i) {
      net.enter("bottleneck" + std::to_string(block++) + "_");
      x = inverted_residual(x, row, i == 0 ? row.stride : 1);
    }
  }
  net.enter("");
  x = x.conv({.filters = 1280}).batch_norm().relu().global_average_pool();
  net.output(x.conv({.filters = 1000}, "classifier").reshape({0, -1}));
  return net.finish();
}

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
