// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <array>

#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/models.hpp"

namespace plumb::zoo {
namespace {

constexpr std::int64_t kSceneClasses = 19;

Wire normalised(const Wire& x, const Conv2d& spec) {
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

}  // namespace plumb::zoo
