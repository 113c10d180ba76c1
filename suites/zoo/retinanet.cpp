// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <array>

#include "harness/base/error.hpp"
#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/models.hpp"

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
  const Conv2d inner{.filters = kPyramid, .bias = true};
  const Conv2d smooth{.filters = kPyramid, .kernel = 3, .pad = 1, .bias = true};
  const Conv2d coarser{.filters = kPyramid, .kernel = 3, .stride = 2, .pad = 1, .bias = true};
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

onnx::ModelProto retinanet(const Sizes& sizes) {
  GraphBuilder net("retinanet-resnext50", 17);
  const Wire image = net.input("images", {sizes.batch, 3, sizes["image"], sizes["image"]});
  const std::vector<Wire> levels = pyramid(net, backbone(net, image));
  net.output(head(net, levels, "class", kBoxClasses));
  net.output(head(net, levels, "box", 4));
  return net.finish();
}

}  // namespace plumb::zoo
