// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "suites/zoo/graph_builder.hpp"

namespace plumb::zoo {

/// Appends BatchNorm and Relu as Caffe's models have them. Caffe splits BatchNorm in two:
/// normalisation, then a Scale layer, which the exporter wrote out as two broadcast nodes with
/// their operands unsqueezed in the graph.
[[nodiscard]] Wire batch_norm_scale_relu(GraphBuilder& net, const Wire& x);

}  // namespace plumb::zoo
