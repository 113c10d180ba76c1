// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/models.hpp"

namespace plumb::zoo {
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

}  // namespace plumb::zoo
