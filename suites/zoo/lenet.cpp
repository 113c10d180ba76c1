// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/models.hpp"

namespace plumb::zoo {
namespace {

/// CNTK leaves the padding to the runtime (SAME_UPPER) and adds the bias as a broadcast node.
Wire conv_add_relu(GraphBuilder& net, const Wire& x, std::int64_t filters) {
  const std::string name = net.next_name("Conv", {});
  const Wire weight = net.weight(name + "_weight", {filters, x.shape()[1], 5, 5});
  const Wire conv = net.node("Conv",
                             {x, weight},
                             {x.shape()[0], filters, x.shape()[2], x.shape()[3]},
                             {{"auto_pad", std::string("SAME_UPPER")},
                              {"dilations", Shape{1, 1}},
                              {"group", std::int64_t{1}},
                              {"kernel_shape", Shape{5, 5}},
                              {"strides", Shape{1, 1}}},
                             name);
  return conv.add(net.weight(name + "_bias", {filters, 1, 1})).relu();
}

}  // namespace

onnx::ModelProto lenet(std::int64_t batch) {
  GraphBuilder net("lenet", 8);
  const Wire image = net.input("Input3", {batch, 1, 28, 28});
  // The export reshapes the classifier's weight inside the graph, first of all nodes.
  const Wire classifier = net.weight("dense_weight", {16, 4, 4, 10}).reshape({256, 10});
  const Wire first = conv_add_relu(net, image, 8).max_pool({.kernel = 2, .stride = 2});
  const Wire second = conv_add_relu(net, first, 16).max_pool({.kernel = 3, .stride = 3});
  net.output(second.reshape({-1, 256}).matmul(classifier).add(net.weight("dense_bias", {1, 10})));
  return net.finish();
}

}  // namespace plumb::zoo
