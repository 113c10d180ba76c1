// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <array>

#include "harness/base/error.hpp"
#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/models.hpp"

namespace plumb::zoo {
namespace {

/// Differences between BVLC's two reference models.
struct Variant {
  bool pool_first;  ///< CaffeNet pools before it normalises, AlexNet after
  Shape
      first_pads;   ///< Caffe rounds extents up; where that matters the exporter wrote one more row
  Shape last_pads;  ///< and column at the end
};

const Variant kAlexNet{.pool_first = false, .first_pads = {0, 0, 0, 0}, .last_pads = {0, 0, 1, 1}};
const Variant kCaffeNet{.pool_first = true, .first_pads = {0, 0, 1, 1}, .last_pads = {0, 0, 0, 0}};

Wire pool_and_normalise(const Wire& x, bool pool_first, const Shape& pads) {
  const Pool2d window{.kernel = 3, .stride = 2, .pads = pads};
  constexpr float kAlpha = 1e-4F;
  return pool_first ? x.max_pool(window).lrn(5, kAlpha, 1.0F)
                    : x.lrn(5, kAlpha, 1.0F).max_pool(window);
}

/// Appends layers 1 to 7 of Krizhevsky et al. 2012, Figure 2: two groups in convolutions 2, 4
/// and 5.
Wire trunk(Wire x, const Variant& variant) {
  x = x.conv({.filters = 96, .kernel = 11, .stride = 4, .bias = true}).relu();
  x = pool_and_normalise(x, variant.pool_first, variant.first_pads);
  x = x.conv({.filters = 256, .kernel = 5, .pad = 2, .group = 2, .bias = true}).relu();
  x = pool_and_normalise(x, variant.pool_first, {0, 0, 0, 0});
  x = x.conv({.filters = 384, .kernel = 3, .pad = 1, .bias = true}).relu();
  x = x.conv({.filters = 384, .kernel = 3, .pad = 1, .group = 2, .bias = true}).relu();
  x = x.conv({.filters = 256, .kernel = 3, .pad = 1, .group = 2, .bias = true}).relu();
  x = x.max_pool({.kernel = 3, .stride = 2, .pads = variant.last_pads}).reshape({-1, 9216});
  x = x.gemm(4096).relu().dropout_with_mask(0.5F);
  return x.gemm(4096).relu().dropout_with_mask(0.5F);
}

}  // namespace

onnx::ModelProto bvlc_alexnet(std::int64_t batch) {
  GraphBuilder net("bvlc-alexnet", 9);
  net.output(trunk(net.input("data_0", {batch, 3, 224, 224}), kAlexNet).gemm(1000).softmax(1));
  return net.finish();
}

onnx::ModelProto bvlc_caffenet(std::int64_t batch) {
  GraphBuilder net("bvlc-caffenet", 9);
  net.output(trunk(net.input("data_0", {batch, 3, 224, 224}), kCaffeNet).gemm(1000).softmax(1));
  return net.finish();
}

onnx::ModelProto bvlc_rcnn_ilsvrc13(std::int64_t batch) {
  GraphBuilder net("bvlc-rcnn-ilsvrc13", 9);
  net.output(trunk(net.input("data_0", {batch, 3, 224, 224}), kCaffeNet).gemm(200));
  return net.finish();
}

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

// CNTK's exports: padding is left to the runtime, biases are nodes of their own, and the weight of
// the first fully connected layer is reshaped inside the graph, before all other nodes.
namespace {

Wire conv_add_relu(GraphBuilder& net, const Wire& x, std::int64_t filters, std::int64_t kernel) {
  const std::string name = net.next_name("Conv", {});
  const Wire conv = x.conv({.filters = filters, .kernel = kernel, .same_upper = true}, name);
  return conv.add(net.weight(name + "_bias", {filters, 1, 1})).relu();
}

Wire dense(const Wire& x, const Wire& weight, const Wire& bias) {
  return x.matmul(weight).add(bias);
}

}  // namespace

onnx::ModelProto lenet(std::int64_t batch) {
  GraphBuilder net("lenet", 8);
  const Wire image = net.input("Input3", {batch, 1, 28, 28});
  const Wire classifier = net.weight("dense_weight", {16, 4, 4, 10}).reshape({256, 10});
  const Wire first = conv_add_relu(net, image, 8, 5).max_pool({.kernel = 2, .stride = 2});
  const Wire second = conv_add_relu(net, first, 16, 5).max_pool({.kernel = 3, .stride = 3});
  net.output(dense(second.reshape({-1, 256}), classifier, net.weight("dense_bias", {1, 10})));
  return net.finish();
}

onnx::ModelProto emotion_ferplus(std::int64_t batch) {
  // Barsoum et al. (arXiv 1608.01041), Figure 5: VGG13 for faces of 64 × 64.
  const std::array<std::int64_t, 4> channels{64, 128, 256, 256};
  const std::array<int, 4> convolutions{2, 2, 3, 3};
  GraphBuilder net("emotion-ferplus", 8);
  const Wire image = net.input("Input3", {batch, 1, 64, 64});
  const Wire first = net.weight("dense_weight0", {256, 4, 4, 1024}).reshape({4096, 1024});
  Wire x = image.sub(net.scalar("mean", 127.5F)).div(net.scalar("range", 127.5F));
  for (std::size_t stage = 0; stage < channels.size(); ++stage) {
    for (int i = 0; i < convolutions[stage]; ++i) {
      x = conv_add_relu(net, x, channels[stage], 3);
    }
    x = x.max_pool({.kernel = 2, .stride = 2}).dropout(0.25F);
  }
  x = dense(x.reshape({-1, 4096}), first, net.weight("dense_bias0", {1024})).relu().dropout(0.5F);
  x = dense(x, net.weight("dense_weight1", {1024, 1024}), net.weight("dense_bias1", {1024}));
  x = x.relu().dropout(0.5F);
  net.output(dense(x, net.weight("dense_weight2", {1024, 8}), net.weight("dense_bias2", {8})));
  return net.finish();
}

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
