// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "harness/model/key/layer_cost.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::suite {
namespace {

ResolvedSuite suite_named(const std::string& name) {
  return resolve(read_suite(std::filesystem::path(PLUMB_SUITES) / (name + ".toml")));
}

struct Work {
  std::int64_t layers = 0;
  std::int64_t macs = 0;
};

/// Adds up the layers of one file by operator.
std::map<std::string, Work> work_of(const ResolvedSuite& suite, const std::string& file) {
  std::map<std::string, Work> work;
  for (const auto& layer : suite.layers) {
    if (layer.file == "shapes/" + file + ".toml") {
      const model::LayerSpec spec = model::parse_key(layer.key);
      work[spec.op].layers += layer.count;
      work[spec.op].macs += layer.count * model::compute_cost(spec).macs;
    }
  }
  return work;
}

TEST(TrainingLayers, hold_the_backward_pass_of_resnet50) {
  auto work = work_of(suite_named("training-layers"), "training_resnet50");
  EXPECT_EQ(work["conv_backward_weights"].layers, 53);
  EXPECT_EQ(work["conv_backward_data"].layers, 52);
  EXPECT_EQ(work["batch_norm_backward"].layers, 53);
  EXPECT_EQ(work["eltwise_backward"].layers, 49);
  EXPECT_EQ(work["binary"].layers, 16);
  // Of eight images; the data of the first convolution (7×7 from 3 to 64 at 112×112) have none.
  constexpr std::int64_t kConvolutions = 3'855'925'248;
  constexpr std::int64_t kFirst = std::int64_t{112} * 112 * 64 * 3 * 49;
  EXPECT_EQ(work["conv_backward_weights"].macs, 8 * kConvolutions);
  EXPECT_EQ(work["conv_backward_data"].macs, 8 * (kConvolutions - kFirst));
  EXPECT_EQ(work["gemm"].macs + work["gemm_bias_gradient"].macs, std::int64_t{2} * 8 * 1000 * 2048);
}

TEST(TrainingLayers, hold_the_backward_pass_of_berts_encoder) {
  auto work = work_of(suite_named("training-layers"), "training_bert");
  constexpr std::int64_t kTokens = 8 * 128;
  // Twice the forward products of 12 layers: by data and by weights.
  const std::int64_t dense = 12 * kTokens * (std::int64_t{4} * 768 * 768 + 2 * 768 * 3072);
  EXPECT_EQ(work["gemm"].macs + work["gemm_bias_gradient"].macs, 2 * dense);
  EXPECT_EQ(work["matmul"].macs, std::int64_t{12} * 4 * 8 * 12 * 128 * 128 * 64);
  EXPECT_EQ(work["layer_norm_backward"].layers, 24);
  EXPECT_EQ(work["softmax_backward"].layers, 12);
}

TEST(TrainingLayers, hold_both_backward_passes_of_deepbench) {
  const ResolvedSuite suite = suite_named("deepbench-backward");
  auto work = work_of(suite, "deepbench_conv_backward");
  EXPECT_EQ(work["conv_backward_weights"].layers, 94);
  EXPECT_EQ(work["conv_backward_data"].layers, 84);
  auto forward = work_of(suite_named("deepbench"), "deepbench_conv_train");
  EXPECT_EQ(work["conv_backward_weights"].macs, forward["conv"].macs);
  std::set<model::LayerKey> seen;
  for (const auto& layer : suite.layers) {
    EXPECT_TRUE(seen.insert(layer.key).second) << layer.key.text;
  }
}

}  // namespace
}  // namespace plumb::suite
