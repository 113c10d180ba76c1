// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <array>

#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/models.hpp"

namespace plumb::zoo {
namespace {

/// Channels from the whole window down to 1/16 of its side; the bottleneck keeps the last
/// (mlcommons/training, image_segmentation/pytorch/model/unet3d.py).
constexpr std::array<std::int64_t, 5> kChannels{32, 64, 128, 256, 320};
constexpr std::int64_t kTumorClasses = 3;

struct Conv3d {
  std::int64_t filters = 0;
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  bool bias = false;
};

Shape volume(const Wire& x, std::int64_t channels, std::int64_t side) {
  return {x.shape()[0], channels, side, side, side};
}

/// Appends a convolution that pads to keep its window's centre on every voxel.
Wire conv(GraphBuilder& net, const Wire& x, const Conv3d& spec) {
  const std::string name = net.next_name("Conv", {});
  const std::int64_t k = spec.kernel;
  std::vector<Wire> inputs{x, net.weight(name + "_weight", {spec.filters, x.shape()[1], k, k, k})};
  if (spec.bias) {
    inputs.push_back(net.weight(name + "_bias", {spec.filters}));
  }
  const std::int64_t side = (x.shape()[2] - 1) / spec.stride + 1;
  return net.node("Conv",
                  inputs,
                  volume(x, spec.filters, side),
                  {{"dilations", Shape(3, 1)},
                   {"group", std::int64_t{1}},
                   {"kernel_shape", Shape(3, k)},
                   {"pads", Shape(6, k / 2)},
                   {"strides", Shape(3, spec.stride)}},
                  name);
}

Wire conv_norm_relu(GraphBuilder& net, const Wire& x, std::int64_t filters, std::int64_t stride) {
  const Wire y = conv(net, x, {.filters = filters, .stride = stride});
  const std::string name = net.next_name("InstanceNorm", {});
  return net
      .node("InstanceNormalization",
            {y, net.weight(name + "_weight", {filters}), net.weight(name + "_bias", {filters})},
            y.shape(),
            {{"epsilon", 1e-5F}},
            name)
      .relu();
}

/// Appends the two convolutions of one level; the first may halve the side.
Wire level(GraphBuilder& net, const Wire& x, std::int64_t filters, std::int64_t stride) {
  return conv_norm_relu(net, conv_norm_relu(net, x, filters, stride), filters, 1);
}

/// Doubles the side and joins what the contracting path had there.
Wire upsample(GraphBuilder& net, const Wire& x, const Wire& skip) {
  const std::int64_t filters = skip.shape()[1];
  const std::string name = net.next_name("ConvTranspose", {});
  const Wire larger = net.node("ConvTranspose",
                               {x,
                                net.weight(name + "_weight", {x.shape()[1], filters, 2, 2, 2}),
                                net.weight(name + "_bias", {filters})},
                               volume(x, filters, 2 * x.shape()[2]),
                               {{"dilations", Shape(3, 1)},
                                {"group", std::int64_t{1}},
                                {"kernel_shape", Shape(3, 2)},
                                {"pads", Shape(6, 0)},
                                {"strides", Shape(3, 2)}},
                               name);
  return level(net, net.concat({larger, skip}, 1), filters, 1);
}

}  // namespace

onnx::ModelProto unet3d(const Sizes& sizes) {
  const std::int64_t side = sizes["image"];
  GraphBuilder net("3d-unet", 17);
  Wire x = net.input("input", {sizes.batch, 1, side, side, side});
  std::vector<Wire> skips;
  for (const std::int64_t channels : kChannels) {
    net.enter("down" + std::to_string(channels) + "_");
    x = level(net, x, channels, skips.empty() ? 1 : 2);
    skips.push_back(x);
  }
  net.enter("bottleneck_");
  x = level(net, x, kChannels.back(), 2);
  for (auto skip = skips.rbegin(); skip != skips.rend(); ++skip) {
    net.enter("up" + std::to_string(skip->shape()[1]) + "_");
    x = upsample(net, x, *skip);
  }
  net.enter("output_");
  net.output(conv(net, x, {.filters = kTumorClasses, .kernel = 1, .bias = true}));
  return net.finish();
}

}  // namespace plumb::zoo
