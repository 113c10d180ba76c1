// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/model/key/layer_cost.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::suite {
namespace {

constexpr std::int64_t kGiga = 1'000'000'000;

const ResolvedSuite& deepbench() {
  static const ResolvedSuite kSuite =
      resolve(read_suite(std::filesystem::path(PLUMB_SUITES) / "deepbench.toml"));
  return kSuite;
}

std::int64_t problems(const std::string& file) {
  std::int64_t count = 0;
  for (const auto& layer : deepbench().layers) {
    count += layer.file == "shapes/deepbench_" + file + ".toml" ? layer.count : 0;
  }
  return count;
}

/// Finds the only layer of a file whose key holds all of these texts.
model::LayerCost cost(const std::string& file, const std::vector<std::string>& texts) {
  std::vector<model::LayerCost> found;
  for (const auto& layer : deepbench().layers) {
    const bool all = std::all_of(texts.begin(), texts.end(), [&](const std::string& text) {
      return layer.key.text.find(text) != std::string::npos;
    });
    if (all && layer.file == "shapes/deepbench_" + file + ".toml") {
      found.push_back(model::compute_cost(model::parse_key(layer.key)));
    }
  }
  EXPECT_EQ(found.size(), 1U) << file << " " << texts.front();
  return found.empty() ? model::LayerCost{} : found.front();
}

TEST(Deepbench, has_every_problem_as_often_as_it_is_listed) {
  EXPECT_TRUE(deepbench().models.empty());
  EXPECT_EQ(problems("gemm_train"), 160);
  EXPECT_EQ(problems("gemm_server"), 75);
  EXPECT_EQ(problems("gemm_device"), 13);
  EXPECT_EQ(problems("conv_train"), 94);
  EXPECT_EQ(problems("conv_server"), 107);
  EXPECT_EQ(problems("conv_device"), 17);
  EXPECT_EQ(problems("rnn_train"), 53);
  EXPECT_EQ(problems("rnn_server"), 69);
  EXPECT_EQ(problems("rnn_device"), 3);
}

TEST(Deepbench, lists_no_key_of_a_file_twice) {
  std::set<std::pair<std::string, model::LayerKey>> seen;
  for (const auto& layer : deepbench().layers) {
    EXPECT_TRUE(seen.emplace(layer.file, layer.key).second) << layer.key.text;
  }
}

// Problems in DeepBench's words, costs by hand.
TEST(Deepbench, keeps_width_and_height_apart) {
  // w 700, h 161, c 1, n 4, k 32, filter w 20, h 5, no padding, strides 2: 341 wide, 79 high.
  EXPECT_EQ(cost("conv_train", {"in=f32[4,1,161,700],f32[32,1,5,20]c;out=f32[4,32,79,341]"}).macs,
            std::int64_t{4} * 32 * 79 * 341 * 5 * 20);
  // w 151, h 40, pads 8, strides w 8, h 2: (151+16-20)/8+1 = 19 wide, (40+16-5)/2+1 = 26 high.
  EXPECT_EQ(cost("conv_device", {"out=f32[1,32,26,19]", "strides=[2,8]"}).macs,
            std::int64_t{32} * 26 * 19 * 100);
  EXPECT_EQ(cost("conv_train", {"in=f32[16,512,10,42]", "out=f32[16,512,10,42]"}).macs,
            std::int64_t{16} * 512 * 10 * 42 * 512 * 9);
}

TEST(Deepbench, turns_column_major_products_into_row_major_ones) {
  // m 1760, n 16, k 1760, no transposition: [n,k]·[k,m].
  EXPECT_EQ(cost("gemm_train", {"in=f32[16,1760],f32[1760,1760];", "trans_a=0;trans_b=0"}).macs,
            std::int64_t{1760} * 16 * 1760);
  // m 7680, n 5481, k 2560, B transposed: B lies as [k,n].
  EXPECT_EQ(cost("gemm_train",
                 {"in=f32[2560,5481],f32[2560,7680];out=f32[5481,7680]", "trans_a=1;trans_b=0"})
                .macs,
            std::int64_t{7680} * 5481 * 2560);
  // m 2560, n 7000, k 2560, A transposed: A lies as [m,k].
  EXPECT_EQ(cost("gemm_train",
                 {"in=f32[7000,2560],f32[2560,2560];out=f32[7000,2560]", "trans_a=0;trans_b=1"})
                .macs,
            std::int64_t{2560} * 7000 * 2560);
}

TEST(Deepbench, multiplies_inputs_and_states_of_every_gate) {
  EXPECT_EQ(cost("rnn_train", {"v1:rnn;in=f32[50,128,2560]"}).macs,
            std::int64_t{50} * 128 * 2 * 2560 * 2560);
  EXPECT_EQ(cost("rnn_train", {"v1:lstm;in=f32[25,128,4096]"}).macs,
            std::int64_t{25} * 128 * 4 * 2 * 4096 * 4096);
  const model::LayerCost longest = cost("rnn_train", {"v1:gru;in=f32[1500,32,2816]"});
  EXPECT_EQ(longest.macs, std::int64_t{1500} * 32 * 3 * 2 * 2816 * 2816);
  EXPECT_GT(longest.macs, 2283 * kGiga);
  for (const auto& layer : deepbench().layers) {
    EXPECT_LE(model::compute_cost(model::parse_key(layer.key)).macs, longest.macs)
        << layer.key.text;
  }
}

}  // namespace
}  // namespace plumb::suite
