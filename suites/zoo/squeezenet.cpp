// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/models.hpp"

namespace plumb::zoo {
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
