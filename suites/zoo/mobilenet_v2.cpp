// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <array>

#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/models.hpp"

namespace plumb::zoo {
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

onnx::ModelProto mobilenet_v2(const Sizes& sizes) {
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

}  // namespace plumb::zoo
