// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <array>

#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/models.hpp"

namespace plumb::zoo {
namespace {

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

}  // namespace plumb::zoo
