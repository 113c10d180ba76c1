// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <array>

#include "harness/base/error.hpp"
#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/zoo.hpp"

namespace plumb::zoo {
namespace {

/// Appends BatchNorm and Relu as Caffe's models have them. Caffe splits BatchNorm in two:
/// normalisation, then a Scale layer, which the exporter wrote out as two broadcast nodes with
/// their operands unsqueezed in the graph.
[[nodiscard]] Wire batch_norm_scale_relu(GraphBuilder& net, const Wire& x) {
  const Wire normal = x.batch_norm();
  const Shape channels{x.shape()[1]};
  const std::string name = net.next_name("Scale", {});
  const Wire scaled = normal.mul(net.weight(name + "_w", channels).unsqueeze({1, 2}));
  return scaled.add(net.weight(name + "_b", channels).unsqueeze({1, 2})).relu();
}

/// One inception row of Table 1 of Szegedy et al. (arXiv 1409.4842).
struct Row {
  const char* name;
  std::int64_t one;
  std::int64_t three_reduce;
  std::int64_t three;
  std::int64_t five_reduce;
  std::int64_t five;
  std::int64_t pool_proj;
};

constexpr std::array<Row, 9> kRows{{{"3a", 64, 96, 128, 16, 32, 32},
                                    {"3b", 128, 128, 192, 32, 96, 64},
                                    {"4a", 192, 96, 208, 16, 48, 64},
                                    {"4b", 160, 112, 224, 24, 64, 64},
                                    {"4c", 128, 128, 256, 24, 64, 64},
                                    {"4d", 112, 144, 288, 32, 64, 64},
                                    {"4e", 256, 160, 320, 32, 128, 128},
                                    {"5a", 256, 160, 320, 32, 128, 128},
                                    {"5b", 384, 192, 384, 48, 128, 128}}};

Wire inception(GraphBuilder& net, const Wire& x, const Row& row) {
  net.enter(std::string("inception_") + row.name + "_");
  const Wire one = x.conv({.filters = row.one, .bias = true}, "1x1").relu();
  const Wire three = x.conv({.filters = row.three_reduce, .bias = true}, "3x3_reduce")
                         .relu()
                         .conv({.filters = row.three, .kernel = 3, .pad = 1, .bias = true}, "3x3")
                         .relu();
  const Wire five = x.conv({.filters = row.five_reduce, .bias = true}, "5x5_reduce")
                        .relu()
                        .conv({.filters = row.five, .kernel = 5, .pad = 2, .bias = true}, "5x5")
                        .relu();
  const Wire pool = x.max_pool({.kernel = 3, .pads = {1, 1, 1, 1}})
                        .conv({.filters = row.pool_proj, .bias = true}, "pool_proj")
                        .relu();
  Wire joined = net.concat({one, three, five, pool}, 1);
  net.enter("");
  return joined;
}

/// Appends everything up to the dropout. `pads` is how the exporter rounded the strided pools.
Wire trunk(GraphBuilder& net, std::int64_t batch, const Shape& pads, const Shape& last_pads) {
  const Wire::Pool2d pool{.kernel = 3, .stride = 2, .pads = pads};
  constexpr float kAlpha = 1e-4F;
  Wire x = net.input("data_0", {batch, 3, 224, 224});
  x = x.conv({.filters = 64, .kernel = 7, .stride = 2, .pad = 3, .bias = true}, "conv1_7x7").relu();
  x = x.max_pool(pool).lrn(5, kAlpha, 1.0F);
  x = x.conv({.filters = 64, .bias = true}, "conv2_3x3_reduce").relu();
  x = x.conv({.filters = 192, .kernel = 3, .pad = 1, .bias = true}, "conv2_3x3").relu();
  x = x.lrn(5, kAlpha, 1.0F).max_pool(pool);
  for (const Row& row : kRows) {
    x = inception(net, x, row);
    const std::string_view name(row.name);
    if (name == "3b" || name == "4e") {
      x = x.max_pool(pool);
    }
  }
  return x.average_pool({.kernel = 7, .pads = last_pads}).dropout_with_mask(0.4F);
}

}  // namespace

onnx::ModelProto bvlc_googlenet(std::int64_t batch) {
  GraphBuilder net("bvlc-googlenet", 9);
  const Wire x = trunk(net, batch, {0, 0, 1, 1}, {0, 0, 0, 0}).reshape({-1, 1024});
  net.output(x.gemm(1000, "classifier").softmax(1));
  return net.finish();
}

onnx::ModelProto inception_v1(std::int64_t batch) {
  GraphBuilder net("inception-v1", 9);
  const Wire x = trunk(net, batch, {0, 0, 0, 0}, {0, 0, 1, 1}).reshape({-1, 1024});
  // Caffe2 keeps the classifier's weight in four dimensions and reshapes it in the graph.
  const Wire weight = net.weight("classifier_weight", {1, 1, 1000, 1024}).reshape({1000, 1024});
  net.output(net.node("Gemm",
                      {x, weight, net.weight("classifier_bias", {1000})},
                      {batch, 1000},
                      {{"transB", std::int64_t{1}}},
                      "classifier")
                 .softmax(1));
  return net.finish();
}

namespace {

enum class Pool { kAverage, kMax };

/// One inception row of Figure 5 of Ioffe and Szegedy (arXiv 1502.03167).
struct RowV2 {
  const char* name;
  std::int64_t one;  ///< 0: the row strides, has no 1×1 branch and projects no pool
  std::int64_t three_reduce;
  std::int64_t three;
  std::int64_t double_reduce;
  std::int64_t double_three;
  Pool pool;
  std::int64_t pool_proj;
};

constexpr std::array<RowV2, 10> kRowsV2{{{"3a", 64, 64, 64, 64, 96, Pool::kAverage, 32},
                                         {"3b", 64, 64, 96, 64, 96, Pool::kAverage, 64},
                                         {"3c", 0, 128, 160, 64, 96, Pool::kMax, 0},
                                         {"4a", 224, 64, 96, 96, 128, Pool::kAverage, 128},
                                         {"4b", 192, 96, 128, 96, 128, Pool::kAverage, 128},
                                         {"4c", 160, 128, 160, 128, 160, Pool::kAverage, 96},
                                         {"4d", 96, 128, 192, 160, 192, Pool::kAverage, 96},
                                         {"4e", 0, 128, 192, 192, 256, Pool::kMax, 0},
                                         {"5a", 352, 192, 320, 160, 224, Pool::kAverage, 128},
                                         {"5b", 352, 192, 320, 192, 224, Pool::kMax, 128}}};

/// Caffe rounds extents up: the exporter wrote one more row and column at the end.
const Wire::Pool2d kStrided{.kernel = 3, .stride = 2, .pads = {0, 0, 1, 1}};

Wire conv(GraphBuilder& net, const Wire& x, const Wire::Conv2d& spec, std::string_view label) {
  return batch_norm_scale_relu(net, x.conv(spec, label));
}

Wire row_of_v2(GraphBuilder& net, const Wire& x, const RowV2& row) {
  net.enter(std::string("inception_") + row.name + "_");
  const std::int64_t stride = row.one == 0 ? 2 : 1;
  std::vector<Wire> branches;
  if (row.one != 0) {
    branches.push_back(conv(net, x, {.filters = row.one}, "1x1"));
  }
  const Wire three = conv(net, x, {.filters = row.three_reduce}, "3x3_reduce");
  branches.push_back(
      conv(net, three, {.filters = row.three, .kernel = 3, .stride = stride, .pad = 1}, "3x3"));
  const Wire reduced = conv(net, x, {.filters = row.double_reduce}, "double3x3_reduce");
  const Wire::Conv2d wide{.filters = row.double_three, .kernel = 3, .pad = 1};
  const Wire once = conv(net, reduced, wide, "double3x3a");
  Wire::Conv2d last = wide;
  last.stride = stride;
  branches.push_back(conv(net, once, last, "double3x3b"));
  if (row.pool_proj == 0) {
    branches.push_back(x.max_pool(kStrided));
  } else {
    const Wire::Pool2d window{.kernel = 3, .pads = {1, 1, 1, 1}};
    const Wire pool = row.pool == Pool::kMax ? x.max_pool(window) : x.average_pool(window);
    branches.push_back(conv(net, pool, {.filters = row.pool_proj}, "pool_proj"));
  }
  Wire joined = net.concat(branches, 1);
  net.enter("");
  return joined;
}

}  // namespace

onnx::ModelProto inception_v2(std::int64_t batch) {
  GraphBuilder net("inception-v2", 9);
  Wire x = net.input("data_0", {batch, 3, 224, 224});
  x = conv(net, x, {.filters = 64, .kernel = 7, .stride = 2, .pad = 3}, "conv1_7x7")
          .max_pool(kStrided);
  x = conv(net, x, {.filters = 64}, "conv2_3x3_reduce");
  x = conv(net, x, {.filters = 192, .kernel = 3, .pad = 1}, "conv2_3x3").max_pool(kStrided);
  for (const RowV2& row : kRowsV2) {
    x = row_of_v2(net, x, row);
  }
  x = x.average_pool({.kernel = 7}).reshape({-1, 1024});
  net.output(x.gemm(1000, "classifier").softmax(1));
  return net.finish();
}

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

onnx::ModelProto densenet121(const Entry::Sizes& sizes) {
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

namespace {

/// Appends the fire module of Iandola et al. (arXiv 1602.07360, Figure 1).
Wire fire(GraphBuilder& net, const Wire& x, std::int64_t squeeze, std::int64_t expand) {
  const Wire squeezed = x.conv({.filters = squeeze, .bias = true}).relu();
  const Wire narrow = squeezed.conv({.filters = expand, .bias = true}).relu();
  const Wire wide = squeezed.conv({.filters = expand, .kernel = 3, .pad = 1, .bias = true}).relu();
  return net.concat({narrow, wide}, 1);
}

}  // namespace

onnx::ModelProto squeezenet_1_1(std::int64_t batch) {
  const Wire::Pool2d pool{.kernel = 3, .stride = 2};
  GraphBuilder net("squeezenet1.1", 7);
  Wire x = net.input("data", {batch, 3, 224, 224});
  x = x.conv({.filters = 64, .kernel = 3, .stride = 2, .bias = true}).relu().max_pool(pool);
  x = fire(net, x, 16, 64);
  x = fire(net, x, 16, 64).max_pool(pool);
  x = fire(net, x, 32, 128);
  x = fire(net, x, 32, 128).max_pool(pool);
  x = fire(net, x, 48, 192);
  x = fire(net, x, 48, 192);
  x = fire(net, x, 64, 256);
  x = fire(net, x, 64, 256);
  x = x.dropout(0.5F).conv({.filters = 1000, .bias = true}).relu();
  net.output(x.average_pool({.kernel = 13, .stride = 13}).reshape({0, -1}));
  return net.finish();
}

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
  const Wire::Pool2d window{.kernel = 3, .stride = 2, .pads = pads};
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
