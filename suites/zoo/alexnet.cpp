// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/models.hpp"

namespace plumb::zoo {
namespace {

/// Differences between BVLC's two reference models.
struct Variant {
  bool pool_first;  ///< CaffeNet pools before it normalises, AlexNet after
  Shape
      first_pads;   ///< Caffe rounds extents up; where that matters the exporter wrote one more row
  Shape last_pads;  ///< and column at the end
};

const Variant kAlexNet{.pool_first = false, .first_pads = {0, 0, 0, 0}, .last_pads = {0, 0, 1, 1}};
const Variant kCaffeNet{.pool_first = true, .first_pads = {0, 0, 1, 1}, .last_pads = {0, 0, 0, 0}};

Wire pool_and_normalise(const Wire& x, bool pool_first, const Shape& pads) {
  const Pool2d window{.kernel = 3, .stride = 2, .pads = pads};
  constexpr float kAlpha = 1e-4F;
  return pool_first ? x.max_pool(window).lrn(5, kAlpha, 1.0F)
                    : x.lrn(5, kAlpha, 1.0F).max_pool(window);
}

/// Appends layers 1 to 7 of Krizhevsky et al. 2012, Figure 2: two groups in convolutions 2, 4
/// and 5.
Wire trunk(Wire x, const Variant& variant) {
  x = x.conv({.filters = 96, .kernel = 11, .stride = 4, .bias = true}).relu();
  x = pool_and_normalise(x, variant.pool_first, variant.first_pads);
  x = x.conv({.filters = 256, .kernel = 5, .pad = 2, .group = 2, .bias = true}).relu();
  x = pool_and_normalise(x, variant.pool_first, {0, 0, 0, 0});
  x = x.conv({.filters = 384, .kernel = 3, .pad = 1, .bias = true}).relu();
  x = x.conv({.filters = 384, .kernel = 3, .pad = 1, .group = 2, .bias = true}).relu();
  x = x.conv({.filters = 256, .kernel = 3, .pad = 1, .group = 2, .bias = true}).relu();
  x = x.max_pool({.kernel = 3, .stride = 2, .pads = variant.last_pads}).reshape({-1, 9216});
  x = x.gemm(4096).relu().dropout_with_mask(0.5F);
  return x.gemm(4096).relu().dropout_with_mask(0.5F);
}

}  // namespace

onnx::ModelProto bvlc_alexnet(std::int64_t batch) {
  GraphBuilder net("bvlc-alexnet", 9);
  net.output(trunk(net.input("data_0", {batch, 3, 224, 224}), kAlexNet).gemm(1000).softmax(1));
  return net.finish();
}

onnx::ModelProto bvlc_caffenet(std::int64_t batch) {
  GraphBuilder net("bvlc-caffenet", 9);
  net.output(trunk(net.input("data_0", {batch, 3, 224, 224}), kCaffeNet).gemm(1000).softmax(1));
  return net.finish();
}

onnx::ModelProto bvlc_rcnn_ilsvrc13(std::int64_t batch) {
  GraphBuilder net("bvlc-rcnn-ilsvrc13", 9);
  net.output(trunk(net.input("data_0", {batch, 3, 224, 224}), kCaffeNet).gemm(200));
  return net.finish();
}

}  // namespace plumb::zoo
