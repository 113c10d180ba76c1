// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <array>

#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/models.hpp"

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
  const Pool2d pool{.kernel = 3, .stride = 2, .pads = pads};
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
const Pool2d kStrided{.kernel = 3, .stride = 2, .pads = {0, 0, 1, 1}};

Wire conv(GraphBuilder& net, const Wire& x, const Conv2d& spec, std::string_view label) {
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
  const Conv2d wide{.filters = row.double_three, .kernel = 3, .pad = 1};
  const Wire once = conv(net, reduced, wide, "double3x3a");
  Conv2d last = wide;
  last.stride = stride;
  branches.push_back(conv(net, once, last, "double3x3b"));
  if (row.pool_proj == 0) {
    branches.push_back(x.max_pool(kStrided));
  } else {
    const Pool2d window{.kernel = 3, .pads = {1, 1, 1, 1}};
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
  const Pool2d pool{.kernel = 3, .stride = 2};
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

}  // namespace plumb::zoo
