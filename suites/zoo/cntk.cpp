// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <array>

#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/models.hpp"

// CNTK's exports: padding is left to the runtime, biases are nodes of their own, and the weight of
// the first fully connected layer is reshaped inside the graph, before all other nodes.
namespace plumb::zoo {
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

}  // namespace plumb::zoo
