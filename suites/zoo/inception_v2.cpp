// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <array>

#include "suites/zoo/caffe_scale.hpp"
#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/models.hpp"

namespace plumb::zoo {
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

}  // namespace plumb::zoo
