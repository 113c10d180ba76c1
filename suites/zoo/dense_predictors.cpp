// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <array>

#include "harness/base/error.hpp"
#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/zoo.hpp"

namespace plumb::zoo {
namespace {

/// ResNeXt-50 32×4d (Xie et al., arXiv 1611.05431, Table 1).
constexpr std::array<int, 4> kBlocks{3, 4, 6, 3};
constexpr std::int64_t kCardinality = 32;
constexpr std::int64_t kPyramid = 256;
constexpr std::int64_t kAnchors = 9;       ///< three sizes, three shapes
constexpr std::int64_t kBoxClasses = 264;  ///< of OpenImages, as MLPerf's reference picks them
constexpr std::int64_t kHeadDepth = 4;

/// Appends a frozen BatchNorm, which the exporter has folded into two constants for each channel.
Wire frozen_norm(GraphBuilder& net, const Wire& x) {
  const std::string name = net.next_name("FrozenNorm", {});
  const Shape per_channel{1, x.shape()[1], 1, 1};
  return x.mul(net.weight(name + "_scale", per_channel))
      .add(net.weight(name + "_bias", per_channel));
}

Wire bottleneck(
    GraphBuilder& net, const Wire& x, std::int64_t channels, std::int64_t stride, bool downsample) {
  const std::int64_t width = channels / 2;
  const Wire narrow = frozen_norm(net, x.conv({.filters = width})).relu();
  const Wire middle =
      frozen_norm(
          net,
          narrow.conv(
              {.filters = width, .kernel = 3, .stride = stride, .pad = 1, .group = kCardinality}))
          .relu();
  const Wire wide = frozen_norm(net, middle.conv({.filters = channels}));
  const Wire shortcut =
      downsample ? frozen_norm(net, x.conv({.filters = channels, .stride = stride})) : x;
  return wide.add(shortcut).relu();
}

/// Returns C3, C4 and C5: the outputs of the last three stages.
std::vector<Wire> backbone(GraphBuilder& net, const Wire& image) {
  Wire x = frozen_norm(net, image.conv({.filters = 64, .kernel = 7, .stride = 2, .pad = 3})).relu();
  x = x.max_pool({.kernel = 3, .stride = 2, .pads = {1, 1, 1, 1}});
  std::vector<Wire> features;
  std::int64_t channels = 256;
  for (std::size_t stage = 0; stage < kBlocks.size(); ++stage, channels *= 2) {
    net.enter("layer" + std::to_string(stage + 1) + "_");
    for (int i = 0; i < kBlocks[stage]; ++i) {
      x = bottleneck(net, x, channels, i == 0 && stage > 0 ? 2 : 1, i == 0);
    }
    features.push_back(x);
  }
  features.erase(features.begin());
  return features;
}

/// Enlarges to the shape of `like` by the nearest neighbour, as PyTorch exports it.
Wire enlarge(GraphBuilder& net, const Wire& x, const Wire& like) {
  const std::string name = net.next_name("Resize", {});
  PLUMB_CHECK(2 * x.shape()[2] == like.shape()[2]);
  const Wire scales = net.reals(name + "_scales", {1, 1, 2, 2});
  return net.node("Resize",
                  {x, Wire(net, "", {}), scales},
                  like.shape(),
                  {{"coordinate_transformation_mode", std::string("asymmetric")},
                   {"mode", std::string("nearest")},
                   {"nearest_mode", std::string("floor")}},
                  name);
}

/// Returns P3 … P7 of the feature pyramid (Lin et al., arXiv 1612.03144, section 3). P6 and P7
/// follow arXiv 1708.02002, footnote 2, except that the input of P6 is P5.
std::vector<Wire> pyramid(GraphBuilder& net, const std::vector<Wire>& features) {
  net.enter("fpn_");
  const Wire::Conv2d inner{.filters = kPyramid, .bias = true};
  const Wire::Conv2d smooth{.filters = kPyramid, .kernel = 3, .pad = 1, .bias = true};
  const Wire::Conv2d coarser{.filters = kPyramid, .kernel = 3, .stride = 2, .pad = 1, .bias = true};
  const Wire top = features[2].conv(inner);
  const Wire p5 = top.conv(smooth);
  const Wire lateral4 = features[1].conv(inner);
  const Wire middle = lateral4.add(enlarge(net, top, lateral4));
  const Wire p4 = middle.conv(smooth);
  const Wire lateral3 = features[0].conv(inner);
  const Wire p3 = lateral3.add(enlarge(net, middle, lateral3)).conv(smooth);
  const Wire p6 = p5.conv(coarser);
  return {p3, p4, p5, p6, p6.relu().conv(coarser)};
}

/// 3×3 convolution whose weights all levels share.
class SharedConv {
 public:
  SharedConv(GraphBuilder& net, const std::string& name, std::int64_t filters)
      : net_(net),
        weight_(net.weight(name + "_weight", {filters, kPyramid, 3, 3})),
        bias_(net.weight(name + "_bias", {filters})) {}

  Wire operator()(const Wire& x) const {
    Shape out = x.shape();
    out[1] = weight_.shape()[0];
    return net_.node("Conv",
                     {x, weight_, bias_},
                     std::move(out),
                     {{"dilations", Shape{1, 1}},
                      {"group", std::int64_t{1}},
                      {"kernel_shape", Shape{3, 3}},
                      {"pads", Shape(4, 1)},
                      {"strides", Shape{1, 1}}});
  }

 private:
  GraphBuilder& net_;
  Wire weight_;
  Wire bias_;
};

/// Appends one head over all levels: `values` for each anchor, anchors of all levels in a row.
Wire head(GraphBuilder& net,
          const std::vector<Wire>& levels,
          const std::string& name,
          std::int64_t values) {
  net.enter(name + "_");
  std::vector<SharedConv> convs;
  for (std::int64_t i = 0; i < kHeadDepth; ++i) {
    convs.emplace_back(net, name + std::to_string(i), kPyramid);
  }
  const SharedConv last(net, name + "_last", kAnchors * values);
  std::vector<Wire> all;
  for (Wire x : levels) {
    for (const SharedConv& conv : convs) {
      x = conv(x).relu();
    }
    const Wire y = last(x);
    all.push_back(y.reshape({0, kAnchors, values, y.shape()[2], y.shape()[3]})
                      .transpose({0, 3, 4, 1, 2})
                      .reshape({0, -1, values}));
  }
  return net.concat(all, 1);
}

}  // namespace

onnx::ModelProto retinanet(const Entry::Sizes& sizes) {
  GraphBuilder net("retinanet-resnext50", 17);
  const Wire image = net.input("images", {sizes.batch, 3, sizes["image"], sizes["image"]});
  const std::vector<Wire> levels = pyramid(net, backbone(net, image));
  net.output(head(net, levels, "class", kBoxClasses));
  net.output(head(net, levels, "box", 4));
  return net.finish();
}

namespace {

Wire conv_norm_leaky(const Wire& x, std::int64_t filters) {
  return x.conv({.filters = filters, .kernel = 3, .same_upper = true})
      .batch_norm(1e-3F, 0.0F)
      .leaky_relu(0.1F);
}

}  // namespace

onnx::ModelProto tiny_yolo_v2(std::int64_t batch) {
  GraphBuilder net("tiny-yolo-v2", 8);
  Wire x = net.input("image", {batch, 3, 416, 416});
  // An operator of opset 1 to 9 that was never more than experimental.
  x = net.node("ImageScaler",
               {x},
               x.shape(),
               {{"bias", std::vector<float>{0.0F, 0.0F, 0.0F}}, {"scale", 1.0F / 255.0F}});
  for (const std::int64_t filters : {16, 32, 64, 128, 256, 512}) {
    x = conv_norm_leaky(x, filters);
    x = x.max_pool({.kernel = 2, .stride = filters < 512 ? 2 : 1, .same_upper = true});
  }
  x = conv_norm_leaky(conv_norm_leaky(x, 1024), 1024);
  // Five anchors, each with four coordinates, a confidence and 20 classes.
  net.output(x.conv({.filters = std::int64_t{5} * (4 + 1 + 20), .bias = true}));
  return net.finish();
}

namespace {

constexpr std::int64_t kSceneClasses = 19;

Wire normalised(const Wire& x, const Wire::Conv2d& spec) {
  return x.conv(spec).batch_norm(1e-6F, 0.9995F);
}

/// Appends a bottleneck block. Its input is projected where the number of channels changes,
/// otherwise added as it is.
Wire bottleneck(const Wire& x, std::int64_t width, std::int64_t stride, std::int64_t dilation) {
  const Wire narrow = normalised(x, {.filters = width, .stride = stride}).relu();
  const Wire seen =
      normalised(narrow, {.filters = width, .kernel = 3, .pad = dilation, .dilation = dilation})
          .relu();
  const Wire body = normalised(seen, {.filters = 4 * width});
  if (x.shape()[1] != 4 * width) {
    return body.sum({normalised(x, {.filters = 4 * width, .stride = stride})}).relu();
  }
  return x.sum({body}).relu();
}

}  // namespace

onnx::ModelProto duc(std::int64_t batch) {
  GraphBuilder net("duc", 7);
  Wire x = net.input("data", {batch, 3, 800, 800});
  x = normalised(x, {.filters = 64, .kernel = 3, .stride = 2, .pad = 1}).relu();
  x = normalised(x, {.filters = 64, .kernel = 3, .pad = 1}).relu();
  x = normalised(x, {.filters = 128, .kernel = 3, .pad = 1}).relu();
  x = x.max_pool({.kernel = 3, .stride = 2});
  // ResNet-101 with the hybrid dilation of Wang et al. (arXiv 1702.08502, section 4.1.2,
  // "dilation-bigger"): 1, 2, 5 and 9 by turns in the fourth stage, growing in the fifth.
  for (int i = 0; i < 3; ++i) {
    x = bottleneck(x, 64, 1, 1);
  }
  for (int i = 0; i < 4; ++i) {
    x = bottleneck(x, 128, i == 0 ? 2 : 1, 1);
  }
  const std::array<std::int64_t, 4> turns{1, 2, 5, 9};
  for (std::size_t i = 0; i < 23; ++i) {
    x = bottleneck(x, 256, 1, i == 0 ? 2 : turns[i % turns.size()]);
  }
  for (const std::int64_t dilation : {5, 9, 17}) {
    x = bottleneck(x, 512, 1, dilation);
  }
  // Dense upsampling (section 3.1): each of 100 × 100 places predicts its 4 × 4 pixels, seen
  // through four dilations.
  std::vector<Wire> heads;
  for (const std::int64_t dilation : {6, 12, 18, 24}) {
    heads.push_back(x.conv({.filters = 16 * kSceneClasses,
                            .kernel = 3,
                            .pad = dilation,
                            .dilation = dilation,
                            .bias = true}));
  }
  const Wire scores = heads[0].sum({heads[1], heads[2], heads[3]});
  net.output(scores.reshape({0, kSceneClasses, -1}).softmax(1));
  return net.finish();
}

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

onnx::ModelProto unet3d(const Entry::Sizes& sizes) {
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
