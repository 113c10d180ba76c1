// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>

#include "suites/zoo/graph_builder.hpp"
#include "suites/zoo/zoo.hpp"

namespace plumb::zoo {
namespace {

/// One categorical feature: the rows of its table, and how many of them one sample sums.
struct Feature {
  std::int64_t rows;
  std::int64_t hot;
};

/// The 26 features of Criteo as MLPerf's reference sets them (mlcommons/training,
/// recommendation_v2/torchrec_dlrm, README: num_embeddings_per_feature, multi_hot_sizes).
constexpr std::array<Feature, 26> kFeatures{{{40'000'000, 3},  {39'060, 2},      {17'295, 1},
                                             {7'424, 2},       {20'265, 6},      {3, 1},
                                             {7'122, 1},       {1'543, 1},       {63, 1},
                                             {40'000'000, 7},  {3'067'956, 3},   {405'282, 8},
                                             {10, 1},          {2'209, 6},       {11'938, 9},
                                             {155, 5},         {4, 1},           {976, 1},
                                             {14, 1},          {40'000'000, 12}, {40'000'000, 100},
                                             {40'000'000, 27}, {590'152, 10},    {12'973, 3},
                                             {108, 1},         {36, 1}}};
constexpr std::int64_t kDense = 13;
constexpr std::int64_t kEmbedding = 128;
constexpr std::int64_t kCrossLayers = 3;
constexpr std::int64_t kCrossRank = 512;

/// Appends an embedding bag of a fixed number of indices as PyTorch exports it: Gather and
/// ReduceSum.
Wire embedding_bag(GraphBuilder& net, const Wire& indices, std::int64_t rows, const Wire& axis) {
  const std::int64_t batch = indices.shape()[0];
  const Wire table = net.weight(net.next_name("Gather", "table"), {rows, kEmbedding});
  const Wire picked = net.node("Gather", {table, indices}, {batch, indices.shape()[1], kEmbedding});
  return net.node(
      "ReduceSum", {picked, axis}, {batch, kEmbedding}, {{"keepdims", std::int64_t{0}}});
}

/// Appends one low-rank cross layer (Wang et al., arXiv 2008.13535, eq. 2):
/// x₀ ⊙ (U·Vᵀ·x + b) + x.
Wire cross(GraphBuilder& net, const Wire& first, const Wire& x) {
  const std::int64_t width = x.shape().back();
  const std::string name = net.next_name("Cross", {});
  const Wire narrow = x.matmul(net.weight(name + "_v", {width, kCrossRank}));
  const Wire wide = narrow.matmul(net.weight(name + "_w", {kCrossRank, width}));
  return first.mul(wide.add(net.weight(name + "_bias", {width}))).add(x);
}

}  // namespace

onnx::ModelProto dlrm_dcnv2(const Entry::Sizes& sizes) {
  GraphBuilder net("dlrm-dcnv2", 17);
  Wire dense = net.input("dense", {sizes.batch, kDense});
  net.enter("bottom_");
  for (const std::int64_t units : {512, 256, 128}) {
    dense = dense.gemm(units).relu();
  }
  const Wire bag = net.integers("bag_axis", {1}, {1});
  std::vector<Wire> pooled;
  for (std::size_t i = 0; i < kFeatures.size(); ++i) {
    const std::string name = "sparse" + std::to_string(i);
    const Wire indices = net.input(name, {sizes.batch, kFeatures[i].hot}, model::DataType::kS64);
    net.enter(name + "_");
    pooled.push_back(embedding_bag(net, indices, std::min(kFeatures[i].rows, sizes["rows"]), bag));
  }
  net.enter("cross_");
  const auto features = static_cast<std::int64_t>(kFeatures.size());
  const Wire sparse = net.concat(pooled, 1).reshape({-1, features, kEmbedding});
  const Wire first =
      net.concat({dense.unsqueeze({1}), sparse}, 1).reshape({-1, (1 + features) * kEmbedding});
  Wire x = first;
  for (std::int64_t layer = 0; layer < kCrossLayers; ++layer) {
    x = cross(net, first, x);
  }
  net.enter("top_");
  for (const std::int64_t units : {1024, 1024, 512, 256}) {
    x = x.gemm(units).relu();
  }
  const Wire click = x.gemm(1);
  net.output(net.node("Sigmoid", {click}, click.shape()));
  return net.finish();
}

}  // namespace plumb::zoo
