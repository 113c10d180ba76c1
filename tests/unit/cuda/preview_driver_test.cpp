// SPDX-License-Identifier: Apache-2.0
// What cuDNN plans for a described GPU beside the driver for previews, which has no device.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "harness/base/error.hpp"
#include "harness/results/engine_choice.hpp"
#include "runners/cuda/dnn/engine_query.hpp"
#include "runners/cuda/driver/driver.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "tests/unit/cuda/vendor_memory.hpp"

namespace plumb::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* kMatmul =
    "v1:matmul;in=f16[8,128,768],f16[768,768]c;out=f16[8,128,768];acc=f32;math=strict";

std::string h200_properties() {
  std::stringstream text;
  text << std::ifstream(PLUMB_TEST_GPUS "/H200.json").rdbuf();
  return nlohmann::json::parse(text.str()).at("properties").dump();
}

class PreviewDriver : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    load_preview_driver(PLUMB_TEST_PREVIEW_DRIVER);
    if (!preview_driver_is_loaded()) {
      GTEST_SKIP() << "the machine has a driver";
    }
  }
};

TEST_P(PreviewDriver, lets_cudnn_plan_what_it_compiles_itself) {
  [[maybe_unused]] const VendorMemory vendors{};
  std::optional<CudnnLibrary> library;
  try {
    library.emplace(
        std::vector<std::filesystem::path>{std::string(PLUMB_TEST_CUDA_FOLDER) + "/libcudnn.so.9"});
  } catch (const Error&) {
    GTEST_SKIP() << "no cuDNN is here";
  }
  const EngineQuery query(*library, h200_properties());
  const model::LayerKey key{GetParam()};
  const results::EngineChoices choices = query.choices(key, EngineQuery::Depth::kToFirstChoice);
  ASSERT_TRUE(choices.outcome.ok()) << choices.outcome.reason;
  ASSERT_THAT(choices.offers, SizeIs(1));
  const auto* const choice = results::chosen_engine(model::parse_key(key), choices.offers[0]);
  ASSERT_NE(choice, nullptr) << choices.offers[0].refusal;
  EXPECT_THAT(choice->plan_digest, SizeIs(64)) << "the plan is finished";
}

INSTANTIATE_TEST_SUITE_P(
    Keys,
    PreviewDriver,
    ::testing::Values(
        kMatmul,
        "v1:attention;in=f16[1,16,2048,128],f16[1,4,2048,128],f16[1,4,2048,128];"
        "out=f16[1,16,2048,128];acc=f32;math=strict;causal=1;kv_heads=4;outputs=y;q_heads=16;"
        "scale=0.088;softcap=0.0",
        "v1:layer_norm;in=bf16[8,384,768],bf16[768]c,bf16[768]c;out=bf16[8,384,768];acc=f32;"
        "math=strict;axis=2;epsilon=1e-12"));

TEST_F(PreviewDriver, is_no_driver_to_measure_with) {
  try {
    const Driver driver;
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kEnvironment);
    EXPECT_THAT(error.what(), HasSubstr("no NVIDIA driver: this machine has no libcuda.so.1"));
  }
}

TEST(ProductGraph, has_the_rows_of_a_batch_in_one_matrix) {
  const TensorGraph graph = product_graph(model::parse_key({kMatmul}));
  EXPECT_THAT(graph.tensors.at(0).dimensions, ElementsAre(1, 1024, 768));
  EXPECT_THAT(graph.tensors.at(1).strides, ElementsAre(589824, 768, 1));
  EXPECT_THAT(graph.tensors.at(2).dimensions, ElementsAre(1, 1024, 768));
}

TEST(ProductGraph, keeps_batches_and_transposes) {
  const TensorGraph batches = product_graph(
      model::parse_key({"v1:matmul;in=f16[2,3,8,16],f16[2,3,16,4];out=f16[2,3,8,4];acc=f32;"
                        "math=strict"}));
  EXPECT_THAT(batches.tensors.at(0).dimensions, ElementsAre(6, 8, 16));
  EXPECT_THAT(batches.tensors.at(1).dimensions, ElementsAre(6, 16, 4));
  const TensorGraph turned = product_graph(
      model::parse_key({"v1:gemm;in=f32[1,2048],f32[1000,2048]c,f32[1000]c;out=f32[1,1000];acc=f32;"
                        "math=strict;alpha=1.0;beta=1.0;trans_a=0;trans_b=1"}));
  EXPECT_THAT(turned.tensors.at(1).dimensions, ElementsAre(1, 2048, 1000));
  EXPECT_THAT(turned.tensors.at(1).strides, ElementsAre(2048000, 1, 2048));
}

TEST(ProductGraph, says_what_it_has_no_form_for) {
  for (const char* const key :
       {"v1:matmul;in=f32[16],f32[16,4];out=f32[4];acc=f32;math=strict",
        "v1:matmul;in=f32[1,8,16],f32[2,16,4];out=f32[2,8,4];acc=f32;math=strict"}) {
    EXPECT_THROW(static_cast<void>(product_graph(model::parse_key({key}))), Unsupported) << key;
  }
}

}  // namespace
}  // namespace plumb::cuda
