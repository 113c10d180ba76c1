// SPDX-License-Identifier: Apache-2.0
// What a real cuDNN offers for a described GPU, where a version is at hand. No device takes part.
#include "runners/cuda/dnn/engine_search.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "harness/base/error.hpp"
#include "harness/results/engine_choice.hpp"
#include "runners/cuda/blas/cublas.hpp"
#include "runners/cuda/dnn/graph_variants.hpp"
#include "tests/unit/cuda/attention_keys.hpp"
#include "tests/unit/cuda/vendor_memory.hpp"

namespace plumb::cuda {
namespace {

constexpr const char* kConvolution =
    "v1:conv;in=f16[8,256,14,14],f16[256,256,3,3]c,f16[256]c;out=f16[8,256,14,14];acc=f32;"
    "math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1];epilogue=relu";

std::optional<CudnnLibrary> toolkit() {
  try {
    return CudnnLibrary({std::string(PLUMB_TEST_CUDA_FOLDER) + "/libcudnn.so.9"});
  } catch (const Error&) {
    return std::nullopt;
  }
}

Descriptor h200(const CudnnLibrary& library) {
  std::stringstream text;
  text << std::ifstream(PLUMB_TEST_GPUS "/H200.json").rdbuf();
  Descriptor properties(library, abi::CudnnCalls::DescriptorType::kDeviceProperties);
  properties.set_text(abi::CudnnCalls::Attribute::kDeviceJson,
                      nlohmann::json::parse(text.str()).at("properties").dump());
  properties.finish("a device");
  return properties;
}

TEST(EngineSearch, lists_each_engine_with_its_knobs_once) {
  [[maybe_unused]] const VendorMemory vendors{};
  const std::optional<CudnnLibrary> library = toolkit();
  if (!library) {
    GTEST_SKIP() << "no cuDNN is here";
  }
  const Descriptor properties = h200(*library);
  const OperationGraph graph = operation_graph(
      *library, convolution_graph(model::parse_key({kConvolution}), TensorLayout::kChannelsLast));
  const EngineTarget target{&properties, nullptr};
  const std::vector<EngineTarget::Engine> found = find_engines(*library, graph, target);
  std::set<std::string> names;
  std::size_t ranked = 0;
  for (const EngineTarget::Engine& engine : found) {
    EXPECT_TRUE(names.insert(engine_text(engine.facts)).second) << engine_text(engine.facts);
    ranked += engine.ranked ? 1U : 0U;
  }
  EXPECT_GT(ranked, 5U);
  EXPECT_GT(found.size(), ranked) << "engines that no heuristic names, with default knobs";
  EXPECT_TRUE(found.front().ranked);
  const Descriptor plan = execution_plan(*library, found.front().configuration, target);
  EXPECT_EQ(plan.integer(abi::CudnnCalls::Attribute::kPlanWorkspace),
            found.front().facts.workspace->value);
}

TEST(EngineAttributes, are_what_cudnn_says_of_engine_and_plan) {
  [[maybe_unused]] const VendorMemory vendors{};
  const std::optional<CudnnLibrary> library = toolkit();
  if (!library) {
    GTEST_SKIP() << "no cuDNN is here";
  }
  const Descriptor properties = h200(*library);
  const OperationGraph graph = operation_graph(
      *library, convolution_graph(model::parse_key({kConvolution}), TensorLayout::kChannelsLast));
  const EngineTarget target{&properties, nullptr};
  const std::vector<EngineTarget::Engine> found = find_engines(*library, graph, target);
  std::set<std::string> uses;
  for (const EngineTarget::Engine& engine : found) {
    const results::Attributes attributes = engine_attributes(engine.facts);
    uses.insert(attributes.at("tensor_cores"));
    EXPECT_EQ(attributes.at("tensor_cores.source"), "cuDNN's notes");
    EXPECT_EQ(attributes.at("tensor_cores") == "yes",
              attributes.at("numerical_notes").find("TENSOR_CORE") != std::string::npos);
  }
  EXPECT_TRUE(uses.contains("yes"));
  results::Attributes first = engine_attributes(found.front().facts);
  add_plan(first, execution_plan(*library, found.front().configuration, target));
  const auto plan = nlohmann::json::parse(first.at("plan"));
  EXPECT_EQ(plan.at("engine").at("engineId").dump(), first.at("engine"));
  EXPECT_EQ(plan.at("operationGraph").at("finalizeMode"), "CONV_ADD_BIAS_ACT");
  EXPECT_FALSE(first.at("knobs").empty());
  nlohmann::json elsewhere = plan;
  elsewhere.at("GPUProfile")["pciDeviceId"] = 7;
  EXPECT_EQ(plan_digest(elsewhere.dump()), plan_digest(plan.dump())) << "of the same plan";
  nlohmann::json other = plan;
  other.at("engine")["engineId"] = -1;
  EXPECT_NE(plan_digest(other.dump()), plan_digest(plan.dump()));
  EXPECT_NE(plan_digest("no JSON"), plan_digest("{}"));
  EXPECT_TRUE(std::all_of(first.begin(), first.end(), [](const auto& one) {
    return results::is_attribute_name(one.first);
  }));
}

class BackwardConvolutions : public ::testing::TestWithParam<const char*> {};

TEST_P(BackwardConvolutions, have_engines_and_plans_in_both_layouts) {
  [[maybe_unused]] const VendorMemory vendors{};
  const std::optional<CudnnLibrary> library = toolkit();
  if (!library) {
    GTEST_SKIP() << "no cuDNN is here";
  }
  const Descriptor properties = h200(*library);
  const EngineTarget target{&properties, nullptr};
  const model::LayerSpec spec = model::parse_key({GetParam()});
  for (GraphForm& form : convolution_forms(spec, true)) {
    const OperationGraph graph = operation_graph(*library, form.graph);
    std::size_t kept = 0;
    for (const EngineTarget::Engine& engine : find_engines(*library, graph, target)) {
      if (!results::keeps_promise(spec, engine.facts)) {
        continue;
      }
      kept += 1;
      if (kept == 1) {
        const Descriptor plan = execution_plan(*library, engine.configuration, target);
        EXPECT_GT(plan.text(abi::CudnnCalls::Attribute::kPlanJson).size(), 100U);
      }
    }
    EXPECT_GT(kept, 0U) << form.text;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Keys,
    BackwardConvolutions,
    ::testing::Values(
        "v1:conv_transpose;in=f32[1,8,5,5],f32[8,4,3,3]c,f32[4]c;out=f32[1,4,10,10];acc=f32;"
        "math=strict;dilations=[1,1];group=1;output_padding=[1,1];pads=[1,1,1,1];strides=[2,2]",
        "v1:conv_transpose;in=f16[8,512,14,14],f16[512,256,4,4]c;out=f16[8,256,28,28];acc=f32;"
        "math=strict;dilations=[1,1];group=1;output_padding=[0,0];pads=[1,1,1,1];strides=[2,2]",
        "v1:conv_transpose;in=bf16[1,64,9,9],bf16[64,16,3,3]c;out=bf16[1,64,19,17];acc=f32;"
        "math=strict;dilations=[1,1];group=4;output_padding=[1,0];pads=[0,1,1,1];strides=[2,2]",
        "v1:conv_transpose;in=f32[1,16,6,6,6],f32[16,8,2,2,2]c,f32[8]c;out=f32[1,8,12,12,12];"
        "acc=f32;math=strict;dilations=[1,1,1];group=1;output_padding=[0,0,0];pads=[0,0,0,0,0,0];"
        "strides=[2,2,2];epilogue=relu",
        "v1:conv_transpose;in=f32[1,16,20],f32[16,8,4]c;out=f32[1,8,40];acc=f32;math=strict;"
        "dilations=[1];group=1;output_padding=[0];pads=[1,1];strides=[2]",
        "v1:conv_backward_data;in=f16[8,256,14,14],f16[256,128,3,3];out=f16[8,128,28,28];acc=f32;"
        "math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];strides=[2,2]",
        "v1:conv_backward_data;in=f32[1,12,5,5],f32[12,4,3,3];out=f32[1,8,9,9];acc=f32;"
        "math=strict;dilations=[2,2];group=2;pads=[0,0,0,0];strides=[1,1]",
        "v1:conv_backward_weights;in=f16[8,256,14,14],f16[8,128,28,28];out=f16[256,128,3,3];"
        "acc=f32;math=strict;dilations=[1,1];group=1;outputs=w;pads=[1,1,1,1];strides=[2,2]",
        "v1:conv_backward_weights;in=f32[8,64,112,112],f32[8,3,224,224];out=f32[64,3,7,7],f32[64];"
        "acc=f32;math=strict;dilations=[1,1];group=1;outputs=wb;pads=[3,3,3,3];strides=[2,2]",
        "v1:conv_backward_weights;in=bf16[2,64,8,8],bf16[2,32,8,8];out=bf16[64,16,3,3];acc=f32;"
        "math=strict;dilations=[1,1];group=2;outputs=w;pads=[1,1,1,1];strides=[1,1]"));

constexpr const char* kConvolutionOfIntegers =
    "v1:conv_integer;in=s8[8,64,14,14],s8[64,64,3,3]c;out=s32[8,64,14,14];acc=s32;math=strict;"
    "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]";

TEST(ConvolutionsOfIntegers, have_an_engine_of_their_own_with_channels_last) {
  [[maybe_unused]] const VendorMemory vendors{};
  const std::optional<CudnnLibrary> library = toolkit();
  if (!library) {
    GTEST_SKIP() << "no cuDNN is here";
  }
  const Descriptor properties = h200(*library);
  const EngineTarget target{&properties, nullptr};
  std::vector<std::size_t> plans;
  for (GraphForm& form : convolution_forms(model::parse_key({kConvolutionOfIntegers}), false)) {
    const OperationGraph graph = operation_graph(*library, form.graph);
    std::size_t& count = plans.emplace_back(0);
    for (const EngineTarget::Engine& engine : find_engines(*library, graph, target)) {
      const Descriptor plan = execution_plan(*library, engine.configuration, target);
      count += plan.text(abi::CudnnCalls::Attribute::kPlanJson).empty() ? 0U : 1U;
    }
  }
  EXPECT_THAT(plans, ::testing::ElementsAre(::testing::Ge(2U), ::testing::Ge(1U)))
      << "NHWC, which comes first, and NCHW";
}

/// Counts the ranked engines that keep the key's promise, where there is an empty driver; absent:
/// what is missing to ask.
std::optional<std::size_t> engines_beside_empty_driver(const model::LayerSpec& spec,
                                                       const TensorGraph& asked) {
  const std::string empty = std::string(PLUMB_TEST_CUDA_FOLDER) + "/stubs/libcuda.so";
  if (dlopen(empty.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return std::nullopt;
  }
  const std::optional<CudnnLibrary> library = toolkit();
  if (!library) {
    return std::nullopt;
  }
  const Descriptor properties = h200(*library);
  const OperationGraph graph = operation_graph(*library, asked);
  const std::vector<EngineTarget::Engine> found =
      find_engines(*library, graph, EngineTarget{&properties, nullptr});
  return static_cast<std::size_t>(
      std::count_if(found.begin(), found.end(), [&](const EngineTarget::Engine& engine) {
        return engine.ranked && results::keeps_promise(spec, engine.facts);
      }));
}

TEST(ConvolutionsOfIntegers, with_their_scales_are_a_pattern_that_cudnn_has_engines_for) {
  [[maybe_unused]] const VendorMemory vendors{};
  for (const char* const result : {"f32", "s8"}) {
    const bool rounded = std::string(result) == "s8";
    const model::LayerSpec spec = model::parse_key(
        {std::string("v1:conv_integer;in=s8[8,64,14,14],s8[64,64,3,3]c,f32[64]c,-,-,f32[]c,f32[64]"
                     "c") +
         (rounded ? ",f32[]c" : "") + ";out=" + result +
         "[8,64,14,14];acc=s32;math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1];"
         "epilogue=relu"});
    const auto engines =
        engines_beside_empty_driver(spec, convolution_graph(spec, TensorLayout::kChannelsLast));
    if (!engines) {
      GTEST_SKIP() << "no cuDNN, or no empty driver of the toolkit's, is here";
    }
    EXPECT_GT(*engines, 0U) << result;
  }
}

TEST(ConvolutionsWithKnownDefects, keep_other_engines) {
  [[maybe_unused]] const VendorMemory vendors{};
  for (const char* const key :
       {kConvolutionOfIntegers,
        "v1:conv_backward_data;in=f32[1,16,9,9],f32[16,3,3,2];out=f32[1,3,8,8];acc=f32;math=strict;"
        "dilations=[1,1];group=1;pads=[2,0,1,2];strides=[1,1]",
        "v1:conv_backward_weights;in=f32[1,16,9,9],f32[1,3,8,8];out=f32[16,3,3,2];acc=f32;"
        "math=strict;dilations=[1,1];group=1;outputs=w;pads=[2,0,1,2];strides=[1,1]"}) {
    const model::LayerSpec spec = model::parse_key({key});
    const auto engines =
        engines_beside_empty_driver(spec, convolution_graph(spec, TensorLayout::kChannelsLast));
    if (!engines) {
      GTEST_SKIP() << "no cuDNN, or no empty driver of the toolkit's, is here";
    }
    EXPECT_GT(*engines, 0U) << key;
  }
}

class AttentionGradientGraphs : public ::testing::TestWithParam<const char*> {};

class AttentionGraphs : public ::testing::TestWithParam<const char*> {};

// Without a driver cuDNN lists no engine that it compiles itself, which all of attention's are. The
// toolkit's empty driver makes it list them, and compile as far as loading: enough to know that the
// pattern is one that it supports.
TEST_P(AttentionGraphs, are_a_pattern_that_cudnn_has_engines_for) {
  [[maybe_unused]] const VendorMemory vendors{};
  const model::LayerSpec spec = model::parse_key({GetParam()});
  const auto engines = engines_beside_empty_driver(spec, attention_form(spec).graph);
  if (!engines) {
    GTEST_SKIP() << "no cuDNN, or no empty driver of the toolkit's, is here";
  }
  EXPECT_GT(*engines, 0U);
}

INSTANTIATE_TEST_SUITE_P(Keys, AttentionGraphs, ::testing::ValuesIn(kAttentions));
INSTANTIATE_TEST_SUITE_P(
    LongKeys,
    AttentionGraphs,
    ::testing::Values(
        "v1:attention;in=f16[1,16,2048,128],f16[1,4,2048,128],f16[1,4,2048,128];"
        "out=f16[1,16,2048,128];acc=f32;math=strict;causal=1;kv_heads=4;outputs=y;q_heads=16;"
        "scale=0.088;softcap=0.0",
        "v1:attention;in=bf16[8,384,1024],bf16[8,384,1024],bf16[8,384,1024],bf16[8,1,1,384];"
        "out=bf16[8,384,1024];acc=f32;math=strict;causal=0;kv_heads=16;outputs=y;q_heads=16;"
        "scale=0.125;softcap=0.0"));

TEST_P(AttentionGradientGraphs, are_a_pattern_that_cudnn_has_engines_for) {
  [[maybe_unused]] const VendorMemory vendors{};
  const model::LayerSpec spec = model::parse_key({GetParam()});
  const auto engines = engines_beside_empty_driver(spec, attention_gradient_form(spec).graph);
  if (!engines) {
    GTEST_SKIP() << "no cuDNN, or no empty driver of the toolkit's, is here";
  }
  EXPECT_GT(*engines, 0U);
}

INSTANTIATE_TEST_SUITE_P(Keys, AttentionGradientGraphs, ::testing::ValuesIn(kAttentionGradients));
INSTANTIATE_TEST_SUITE_P(
    LongKeys,
    AttentionGradientGraphs,
    ::testing::Values(
        "v1:attention_backward;in=f16[1,16,2048,128],f16[1,16,2048,128],f16[1,4,2048,128],"
        "f16[1,4,2048,128],f16[1,16,2048,128],f32[1,16,2048,1];out=f16[1,16,2048,128],"
        "f16[1,4,2048,128],f16[1,4,2048,128];acc=f32;math=strict;causal=1;kv_heads=4;q_heads=16;"
        "scale=0.088",
        "v1:attention_backward;in=bf16[8,384,1024],bf16[8,384,1024],bf16[8,384,1024],"
        "bf16[8,384,1024],bf16[8,384,1024],f32[8,16,384,1];out=bf16[8,384,1024],bf16[8,384,1024],"
        "bf16[8,384,1024];acc=f32;math=strict;causal=0;kv_heads=16;q_heads=16;scale=0.125"));

// What cuDNN documents: heads of up to 256 numbers, by eights.
TEST(AttentionGradientGraph, has_no_engines_beyond_cudnns_own_limits) {
  [[maybe_unused]] const VendorMemory vendors{};
  for (const int numbers : {12, 264}) {
    const std::string q = "f16[1,2,64," + std::to_string(numbers) + "]";
    std::string key = "v1:attention_backward;in=" + q;
    for (int i = 0; i < 4; ++i) {
      key += "," + q;
    }
    key += ",f32[1,2,64,1];out=" + q + "," + q + "," + q +
           ";acc=f32;math=strict;causal=0;kv_heads=2;q_heads=2;scale=0.25";
    const model::LayerSpec spec = model::parse_key({key});
    const auto engines = engines_beside_empty_driver(spec, attention_gradient_form(spec).graph);
    if (!engines) {
      GTEST_SKIP() << "no cuDNN, or no empty driver of the toolkit's, is here";
    }
    EXPECT_EQ(*engines, 0U) << numbers;
  }
}

class NormGraphs : public ::testing::TestWithParam<const char*> {};

// As with attention, cuDNN compiles the engines of normalisations itself. Behind it and the tests
// without the empty driver, which stays in the process.
TEST_P(NormGraphs, are_a_pattern_that_cudnn_has_engines_for) {
  [[maybe_unused]] const VendorMemory vendors{};
  const std::string empty = std::string(PLUMB_TEST_CUDA_FOLDER) + "/stubs/libcuda.so";
  if (dlopen(empty.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    GTEST_SKIP() << "the CUDA toolkit's empty driver is not here";
  }
  const std::optional<CudnnLibrary> library = toolkit();
  if (!library) {
    GTEST_SKIP() << "no cuDNN is here";
  }
  const Descriptor properties = h200(*library);
  const EngineTarget target{&properties, nullptr};
  const model::LayerSpec spec = model::parse_key({GetParam()});
  for (const GraphForm& form : norm_forms(spec)) {
    const OperationGraph graph = operation_graph(*library, form.graph);
    std::size_t kept = 0;
    for (const EngineTarget::Engine& engine : find_engines(*library, graph, target)) {
      kept += engine.ranked && results::keeps_promise(spec, engine.facts) ? 1U : 0U;
    }
    EXPECT_GT(kept, 0U) << form.text;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Keys,
    NormGraphs,
    ::testing::Values(
        "v1:layer_norm;in=f32[8,384,768],f32[768]c,f32[768]c;out=f32[8,384,768];acc=f32;"
        "math=strict;axis=2;epsilon=1e-12",
        "v1:layer_norm;in=bf16[8,384,768],bf16[768]c,bf16[768]c;out=bf16[8,384,768];acc=f32;"
        "math=strict;axis=2;epsilon=1e-12",
        "v1:layer_norm_backward;in=f16[8,384,768],f16[8,384,768],f32[768],f32[8,384,1],"
        "f32[8,384,1];out=f16[8,384,768],f32[768],f32[768];acc=f32;math=strict;axis=2;"
        "epsilon=1e-12",
        "v1:batch_norm_backward;in=f16[32,64,56,56],f16[32,64,56,56],f32[64],f32[64],f32[64];"
        "out=f16[32,64,56,56],f32[64],f32[64];acc=f32;math=strict;epsilon=1e-05",
        "v1:batch_norm_backward;in=f32[8,16,9,9],f32[8,16,9,9],f32[16],f32[16],f32[16];"
        "out=f32[8,16,9,9],f32[16],f32[16];acc=f32;math=strict;epsilon=1e-05"));

TEST(ConvolutionGraph, knows_which_operand_each_tensor_is) {
  const TensorGraph graph =
      convolution_graph(model::parse_key({kConvolution}), TensorLayout::kChannelsFirst);
  std::multiset<std::size_t> operands;
  std::size_t results = 0;
  for (const TensorGraph::Tensor& tensor : graph.tensors) {
    if (tensor.is_virtual) {
      EXPECT_FALSE(tensor.operand);
    } else if (tensor.operand) {
      operands.insert(*tensor.operand);
    } else {
      ++results;
    }
  }
  EXPECT_THAT(operands, ::testing::ElementsAre(0, 1, 2));
  EXPECT_EQ(results, 1U);
}

TEST(Cublas, makes_descriptors_without_a_device_and_says_why_there_is_no_handle) {
  try {
    const CublasLibrary library;
    const GemmProblem problem = gemm_problem(
        model::parse_key({"v1:matmul;in=f16[4,8,16],f16[4,16,9];out=f16[4,8,9];acc=f32;"
                          "math=strict;epilogue=relu"}));
    const CublasLibrary::Product product = lt_product(library, problem);
    EXPECT_NE(product.product.get(), nullptr);
    EXPECT_NE(product.a.get(), nullptr);
    const CublasLibrary::Product integers = lt_product(
        library,
        gemm_problem(
            model::parse_key({"v1:matmul_integer;in=s8[4,16],s8[16,8]c;out=s32[4,8];acc=s32;"
                              "math=strict"})));
    EXPECT_NE(integers.d.get(), nullptr);
    try {
      const CublasLibrary::Handle handle(library);
    } catch (const CublasLibrary::Refusal& refusal) {
      EXPECT_THAT(refusal.what(), ::testing::HasSubstr("CUBLAS_STATUS_"));
    }
  } catch (const Error& missing) {
    EXPECT_THAT(missing.what(), ::testing::HasSubstr("nvidia-cublas"));
    GTEST_SKIP() << missing.what();
  }
}

TEST(Cublas, the_older_interface_is_found_by_name) {
  try {
    const CublasLibrary library;
    ASSERT_NE(library.older_calls(), nullptr) << "it lies beside cuBLASLt";
    abi::BlasCalls calls = *library.older_calls();
    std::size_t found = 0;
    abi::for_each_blas_call(calls, [&](auto& call, const char* name) {
      EXPECT_NE(call, nullptr) << name;
      found += 1;
    });
    EXPECT_EQ(found * sizeof(void*), sizeof calls);
  } catch (const Error& missing) {
    EXPECT_THAT(missing.what(), ::testing::HasSubstr("nvidia-cublas"));
    GTEST_SKIP() << missing.what();
  }
}

}  // namespace
}  // namespace plumb::cuda
