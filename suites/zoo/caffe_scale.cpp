// SPDX-License-Identifier: Apache-2.0
#include "suites/zoo/caffe_scale.hpp"

namespace plumb::zoo {

Wire batch_norm_scale_relu(GraphBuilder& net, const Wire& x) {
  const Wire normal = x.batch_norm();
  const Shape channels{x.shape()[1]};
  const std::string name = net.next_name("Scale", {});
  const Wire scaled = normal.mul(net.weight(name + "_w", channels).unsqueeze({1, 2}));
  return scaled.add(net.weight(name + "_b", channels).unsqueeze({1, 2})).relu();
}

}  // namespace plumb::zoo
