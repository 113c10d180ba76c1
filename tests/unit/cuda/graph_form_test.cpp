// SPDX-License-Identifier: Apache-2.0
// Layers as cuDNN is asked for them: the graph by arithmetic on the host, what our kernels do
// behind it by those kernels on the host, against the reference.
#include <algorithm>
#include <cstring>

#include "runners/cuda/builtin/builtin_layer.hpp"
#include "runners/cuda/device_program.hpp"
#include "runners/cuda/dnn/graph_variants.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/engine/bench/verification.hpp"
#include "tests/unit/cuda/attention_keys.hpp"
#include "tests/unit/cuda/graph_arithmetic.hpp"
#include "tests/unit/cuda/host_kernels.hpp"

namespace plumb::cuda {
namespace {

/// Layer in one form, with what comes before and follows the form's graph as steps for the
/// host.
struct HostForm {
  model::LayerSpec spec;
  GraphForm form;
  ExecutionPlan plan;
  std::size_t before = 0;  ///< steps of it, that come before the graph
};

HostForm host_form(const model::LayerSpec& spec, const GraphForm& form, HostKernels& kernels) {
  HostForm result{
      spec,
      form,
      begin_plan(spec, form.inputs, std::vector<TensorLayout>(spec.outputs.size(), form.result)),
      0};
  append_builtin_steps(result.plan, form.before, form.result, kernels.steps());
  result.before = result.plan.steps.size();
  append_builtin_steps(result.plan, form.behind, form.result, kernels.steps());
  return result;
}

std::vector<model::Tensor> executed(const HostForm& layer, std::vector<model::Tensor> buffers) {
  const GraphForm& form = layer.form;
  const std::size_t operands = buffers.size();
  for (const std::vector<model::TensorType>& types : {layer.spec.outputs, form.made}) {
    for (const model::TensorType& type : types) {
      buffers.push_back(
          {type,
           std::vector<std::byte>(static_cast<std::size_t>(model::byte_size(type).value),
                                  std::byte{0x5a})});
    }
  }
  std::vector<std::vector<std::byte>> memory;
  std::vector<abi::DevicePointer> addresses;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    memory.push_back(i < operands
                         ? laid_out(buffers[i].type, buffers[i].data, form.inputs[i], false)
                         : buffers[i].data);
    addresses.push_back(reinterpret_cast<abi::DevicePointer>(memory.back().data()));
  }
  const auto run = [&](std::size_t first, std::size_t last) {
    for (std::size_t step = first; step < last; ++step) {
      layer.plan.steps[step].bind(addresses, 0)(nullptr);
    }
  };
  run(0, layer.before);
  const std::size_t made = operands + layer.spec.outputs.size();
  for (std::size_t i = made; i < buffers.size(); ++i) {
    buffers[i].data = memory[i];
  }
  for (const auto& [index, result] : computed(form, layer.spec.outputs, buffers)) {
    const std::vector<std::byte> laid = laid_out(result.type, result.data, form.result, false);
    std::copy(laid.begin(), laid.end(), memory[operands + index].begin());
  }
  run(layer.before, layer.plan.steps.size());
  std::vector<model::Tensor> results;
  for (std::size_t i = 0; i < layer.spec.outputs.size(); ++i) {
    const model::TensorType& type = layer.spec.outputs[i];
    results.push_back({type, laid_out(type, memory[operands + i], form.result, true)});
  }
  return results;
}

void expect_right(const std::vector<HostForm>& layers) {
  for (const HostForm& layer : layers) {
    const std::vector<model::Tensor> operands = engine::random_operands(layer.spec, 5);
    const std::vector<model::Tensor> outputs = executed(layer, operands);
    const engine::Verifier::Verdict verdict = engine::verify(layer.spec, operands, outputs);
    EXPECT_TRUE(verdict.outcome.ok()) << model::to_key(layer.spec).text << " as " << layer.form.text
                                      << ": " << verdict.outcome.reason;
  }
}

constexpr const char* kConvolutionGradients[] = {
    "v1:conv_backward_data;in=f32[2,6,5,4],f32[6,2,3,2];out=f32[2,4,9,8];acc=f32;math=strict;"
    "dilations=[1,1];group=2;pads=[2,0,0,1];strides=[2,2]",
    "v1:conv_backward_data;in=f16[1,8,20],f16[8,4,3];out=f16[1,4,20];acc=f32;math=strict;"
    "dilations=[2];group=1;pads=[2,2];strides=[1]",
    "v1:conv_backward_weights;in=f32[2,6,5,4],f32[2,4,9,8];out=f32[6,2,3,2];acc=f32;math=strict;"
    "dilations=[1,1];group=2;outputs=w;pads=[2,0,0,1];strides=[2,2]",
    "v1:conv_backward_weights;in=f32[3,8,20],f32[3,4,20];out=f32[8,4,5];acc=f32;math=strict;"
    "dilations=[1];group=1;outputs=w;pads=[2,2];strides=[1]",
};

constexpr const char* kConvolutionsOfIntegers[] = {
    "v1:conv_integer;in=s8[2,4,8,7],s8[6,2,3,2]c;out=s32[2,6,9,8];acc=s32;math=strict;"
    "dilations=[1,1];group=2;pads=[2,0,1,2];strides=[1,1]",
    "v1:conv_integer;in=s8[1,4,20],s8[8,4,3]c,f32[8]c,-,-,f32[]c,f32[8]c;out=f32[1,8,20];acc=s32;"
    "math=strict;dilations=[2];group=1;pads=[2,2];strides=[1];epilogue=leaky_relu(0.1)",
    "v1:conv_integer;in=s8[1,4,6,6],s8[8,4,3,3]c,f32[8]c,-,-,f32[]c,f32[]c,f32[]c,-,f32[1,8,6,6];"
    "out=s8[1,8,6,6];acc=s32;math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1];"
    "epilogue=add@9,relu",
};

constexpr const char* kConvolutions[] = {
    "v1:conv;in=f32[2,4,8,7],f32[6,2,3,2]c,f32[6]c;out=f32[2,6,9,8];acc=f32;math=strict;"
    "dilations=[1,1];group=2;pads=[2,0,1,2];strides=[1,1];epilogue=relu",
    "v1:conv;in=f32[1,4,6,6],f32[8,4,3,3]c,f32[8]c,f32[1,8,6,6];out=f32[1,8,6,6];acc=f32;"
    "math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1];epilogue=add@3,relu",
    "v1:conv_transpose;in=f32[1,8,5,5],f32[8,4,3,3]c,f32[4]c;out=f32[1,4,10,10];acc=f32;"
    "math=strict;dilations=[1,1];group=1;output_padding=[1,1];pads=[1,1,1,1];strides=[2,2]",
    "v1:conv_transpose;in=f32[2,8,4,3],f32[8,3,3,2]c,f32[6]c;out=f32[2,6,8,7];acc=f32;"
    "math=strict;dilations=[1,2];group=2;output_padding=[0,1];pads=[1,0,0,1];strides=[2,2];"
    "epilogue=clip(0.0,6.0)",
    "v1:conv_transpose;in=f32[1,4,6],f32[4,3,3]c,f32[3]c;out=f32[1,3,10];acc=f32;math=strict;"
    "dilations=[2];group=1;output_padding=[1];pads=[0,1];strides=[1];epilogue=leaky_relu(0.1)",
    "v1:conv_transpose;in=f16[1,4,3,3,3],f16[4,4,2,2,2]c;out=f16[1,4,6,6,6];acc=f32;"
    "math=strict;dilations=[1,1,1];group=1;output_padding=[0,0,0];pads=[0,0,0,0,0,0];"
    "strides=[2,2,2]",
};

TEST(GraphForm, of_convolutions_means_what_the_key_says) {
  HostKernels kernels;
  std::vector<HostForm> layers;
  for (const char* const key : kConvolutions) {
    const model::LayerSpec spec = model::parse_key({key});
    for (const bool apart : {false, true}) {
      for (const GraphForm& form : convolution_forms(spec, apart)) {
        layers.push_back(host_form(spec, form, kernels));
      }
    }
  }
  EXPECT_EQ(layers.size(), 4 * std::size(kConvolutions)) << "in both layouts, at once and apart";
  kernels.compile();
  expect_right(layers);
}

TEST(GraphForm, of_convolutions_of_integers_means_what_the_key_says) {
  HostKernels none;
  std::vector<HostForm> layers;
  for (const char* const key : kConvolutionsOfIntegers) {
    const model::LayerSpec spec = model::parse_key({key});
    for (const GraphForm& form : convolution_forms(spec, false)) {
      layers.push_back(host_form(spec, form, none));
    }
  }
  EXPECT_EQ(layers.size(), 2 * std::size(kConvolutionsOfIntegers));
  EXPECT_EQ(layers[0].form.result, TensorLayout::kChannelsLast) << "first: what has fast engines";
  expect_right(layers);
}

TEST(GraphForm, of_integers_that_cudnn_is_not_asked_for_says_why) {
  const auto refusal = [](const std::string& operands, const std::string& result) -> std::string {
    try {
      static_cast<void>(convolution_forms(
          model::parse_key(
              {"v1:conv_integer;in=" + operands + ";out=" + result +
               ";acc=s32;math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]"}),
          false));
    } catch (const Unsupported& reason) {
      return reason.what();
    }
    return "";
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(refusal("u8[1,4,6,6],s8[8,4,3,3]c", "s32[1,8,6,6]"), HasSubstr("s8 with s8"));
  EXPECT_THAT(refusal("s8[1,4,6,6],s8[8,4,3,3]c,-,s8[]c", "s32[1,8,6,6]"),
              HasSubstr("without zero points"));
  EXPECT_THAT(refusal("s8[1,4,6,6],s8[8,4,3,3]c,s32[8]c", "s32[1,8,6,6]"),
              HasSubstr("bias of integers"));
}

TEST(GraphForm, of_convolutions_gradients_means_what_the_key_says) {
  HostKernels none;
  std::vector<HostForm> layers;
  for (const char* const key : kConvolutionGradients) {
    const model::LayerSpec spec = model::parse_key({key});
    for (const GraphForm& form : convolution_forms(spec, false)) {
      layers.push_back(host_form(spec, form, none));
    }
  }
  EXPECT_EQ(layers.size(), 2 * std::size(kConvolutionGradients));
  expect_right(layers);
}

TEST(GraphForm, a_bias_gradient_is_a_kernel_of_ours_beside_the_weights) {
  const model::LayerSpec spec = model::parse_key(
      {"v1:conv_backward_weights;in=f32[2,6,5,4],f32[2,4,9,8];out=f32[6,2,3,2],f32[6];"
       "acc=f32;math=strict;dilations=[1,1];group=2;outputs=wb;pads=[2,0,0,1];"
       "strides=[2,2]"});
  EXPECT_THROW(static_cast<void>(convolution_forms(spec, false)), Unsupported);
  HostKernels kernels;
  std::vector<HostForm> layers;
  for (const GraphForm& form : convolution_forms(spec, true)) {
    layers.push_back(host_form(spec, form, kernels));
    EXPECT_EQ(layers.back().plan.implementation, "+plumb:reduce") << form.text;
  }
  EXPECT_EQ(layers.size(), 2U);
  kernels.compile();
  expect_right(layers);
}

constexpr const char* kNorms[] = {
    "v1:layer_norm;in=f32[2,7,32],f32[32]c,f32[32]c;out=f32[2,7,32];acc=f32;math=strict;axis=2;"
    "epsilon=0.001",
    "v1:layer_norm;in=f16[5,3,8],f16[3,8]c,f16[3,8]c;out=f16[5,3,8];acc=f32;math=strict;axis=1;"
    "epsilon=1e-05",
    "v1:layer_norm_backward;in=f32[2,7,32],f32[2,7,32],f32[32],f32[2,7,1],f32[2,7,1];"
    "out=f32[2,7,32],f32[32],f32[32];acc=f32;math=strict;axis=2;epsilon=0.001",
    "v1:layer_norm_backward;in=bf16[4,6,8],bf16[4,6,8],f32[6,8],f32[4,1,1],f32[4,1,1];"
    "out=bf16[4,6,8],f32[6,8],f32[6,8];acc=f32;math=strict;axis=1;epsilon=0.01",
    "v1:batch_norm_backward;in=f32[2,16,5,4],f32[2,16,5,4],f32[16],f32[16],f32[16];"
    "out=f32[2,16,5,4],f32[16],f32[16];acc=f32;math=strict;epsilon=0.001",
    "v1:batch_norm_backward;in=f16[3,8,9],f16[3,8,9],f32[8],f32[8],f32[8];"
    "out=f16[3,8,9],f32[8],f32[8];acc=f32;math=strict;epsilon=0.001",
    "v1:batch_norm_backward;in=f32[9,8],f32[9,8],f32[8],f32[8],f32[8];"
    "out=f32[9,8],f32[8],f32[8];acc=f32;math=strict;epsilon=0.001",
};

TEST(GraphForm, of_normalisations_means_what_the_key_says) {
  HostKernels kernels;
  std::vector<HostForm> layers;
  for (const char* const key : kNorms) {
    const model::LayerSpec spec = model::parse_key({key});
    for (const GraphForm& form : norm_forms(spec)) {
      layers.push_back(host_form(spec, form, kernels));
    }
  }
  EXPECT_EQ(layers.size(), std::size(kNorms) + 2) << "two of them in both layouts";
  kernels.compile();
  expect_right(layers);
}

constexpr const char* kPools[] = {
    "v1:max_pool;in=f32[2,3,7,6];out=f32[2,3,3,5];acc=f32;math=strict;ceil_mode=0;dilations=[1,1];"
    "kernel=[3,2];pads=[0,0,1,0];strides=[2,1]",
    "v1:average_pool;in=f32[1,4,5,5];out=f32[1,4,3,3];acc=f32;math=strict;ceil_mode=0;"
    "count_include_pad=1;dilations=[1,1];kernel=[3,3];pads=[1,1,1,1];strides=[2,2]",
    "v1:average_pool;in=f16[1,8,20];out=f16[1,8,10];acc=f32;math=strict;ceil_mode=0;"
    "count_include_pad=0;dilations=[1];kernel=[3];pads=[0,1];strides=[2]",
};

TEST(GraphForm, of_pools_means_what_the_key_says) {
  HostKernels none;
  std::vector<HostForm> layers;
  for (const char* const key : kPools) {
    const model::LayerSpec spec = model::parse_key({key});
    for (const TensorLayout layout : {TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast}) {
      layers.push_back(host_form(spec, {"pool", pool_graph(spec, layout), {layout}, layout}, none));
    }
  }
  expect_right(layers);
  EXPECT_THROW(
      static_cast<void>(pool_graph(
          model::parse_key({"v1:max_pool;in=f32[1,1,9];out=f32[1,1,5];acc=f32;math=strict;"
                            "ceil_mode=0;dilations=[2];kernel=[3];pads=[0,0];strides=[1]"}),
          TensorLayout::kChannelsFirst)),
      Unsupported);
}

TEST(GraphForm, normalisations_that_cudnn_is_not_asked_for_say_why) {
  const auto refusal = [](const char* key) -> std::string {
    try {
      static_cast<void>(norm_forms(model::parse_key({key})));
    } catch (const Unsupported& reason) {
      return reason.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("v1:layer_norm;in=f32[2,8],f32[8]c;out=f32[2,8];acc=f32;math=strict;axis=1;"
                      "epsilon=0.001"),
              ::testing::HasSubstr("without bias"));
  EXPECT_THAT(refusal("v1:rms_norm;in=f32[2,8],f32[8]c;out=f32[2,8];acc=f32;math=strict;axis=1;"
                      "epsilon=0.001"),
              ::testing::HasSubstr("'rms_norm'"));
  EXPECT_THAT(
      refusal("v1:layer_norm;in=f64[2,8],f64[8]c,f64[8]c;out=f64[2,8];acc=f64;math=strict;axis=1;"
              "epsilon=0.001"),
      ::testing::HasSubstr("f64"));
}

class AttentionGradients : public ::testing::TestWithParam<const char*> {};

class Attention : public ::testing::TestWithParam<const char*> {};

TEST_P(Attention, as_a_graph_means_what_the_key_says) {
  const model::LayerSpec spec = model::parse_key({GetParam()});
  HostKernels none;
  expect_right({host_form(spec, attention_form(spec), none)});
}

INSTANTIATE_TEST_SUITE_P(Keys, Attention, ::testing::ValuesIn(kAttentions));

TEST_P(AttentionGradients, as_graphs_mean_what_the_key_says) {
  const model::LayerSpec spec = model::parse_key({GetParam()});
  HostKernels none;
  expect_right({host_form(spec, attention_gradient_form(spec), none)});
}

INSTANTIATE_TEST_SUITE_P(Keys, AttentionGradients, ::testing::ValuesIn(kAttentionGradients));

TEST(GraphForm, attention_that_cudnn_is_not_asked_for_says_why) {
  const auto refusal = [](const std::string& key) -> std::string {
    try {
      static_cast<void>(attention_form(model::parse_key({key})));
    } catch (const Unsupported& reason) {
      return reason.what();
    }
    return "";
  };
  const std::string end =
      ";acc=f32;math=strict;causal=1;kv_heads=2;outputs=y;q_heads=4;scale=0.25;"
      "softcap=0.0";
  EXPECT_THAT(
      refusal("v1:attention;in=f32[1,4,3,16],f32[1,2,3,16],f32[1,2,3,16];out=f32[1,4,3,16]" + end),
      ::testing::HasSubstr("not of f32"));
  EXPECT_THAT(refusal("v1:attention;in=f16[1,4,3,16],f16[1,2,3,16],f16[1,2,3,16],-,f16[1,2,6,16],"
                      "f16[1,2,6,16];out=f16[1,4,3,16]" +
                      end),
              ::testing::HasSubstr("two tensors"));
  EXPECT_THAT(refusal("v1:attention;in=f16[1,4,3,16],f16[1,2,3,16],f16[1,2,3,16],bool[3,3];"
                      "out=f16[1,4,3,16]" +
                      end),
              ::testing::HasSubstr("mask of bool"));
}

TEST(GraphForm, gradients_of_attention_that_cudnn_is_not_asked_for_say_why) {
  const auto key = [](const std::string& type, int queries, int keys) {
    const std::string q = type + "[1,2," + std::to_string(queries) + ",16]";
    const std::string k = type + "[1,2," + std::to_string(keys) + ",16]";
    return model::LayerKey{"v1:attention_backward;in=" + q + "," + q + "," + k + "," + k + "," + q +
                           ",f32[1,2," + std::to_string(queries) + ",1];out=" + q + "," + k + "," +
                           k + ";acc=f32;math=strict;causal=0;kv_heads=2;q_heads=2;scale=0.25"};
  };
  EXPECT_THROW(static_cast<void>(attention_gradient_form(model::parse_key(key("f32", 5, 7)))),
               Unsupported);
  const auto is_sound = [](const model::LayerKey& asked, std::size_t version) {
    try {
      require_sound_attention_gradient(model::parse_key(asked), version);
      return true;
    } catch (const Unsupported&) {
      return false;
    }
  };
  EXPECT_TRUE(is_sound(key("f16", 5, 7), 91900));
  EXPECT_TRUE(is_sound(key("f16", 5, 7), 91501));
  EXPECT_FALSE(is_sound(key("f16", 5, 7), 91500)) << "keys beyond the last 128 were not masked";
  EXPECT_TRUE(is_sound(key("f16", 5, 256), 91500));
  EXPECT_FALSE(is_sound(key("f16", 128, 128), 91000));
  EXPECT_FALSE(is_sound(key("f16", 128, 128), 91001));
  EXPECT_FALSE(is_sound(key("f16", 1, 1), 91900));
}

TEST(GraphForm, steps_that_cudnn_does_not_fuse_are_kernels_of_ours) {
  const model::LayerSpec spec = model::parse_key(
      {"v1:conv;in=f32[1,4,6,6],f32[8,4,3,3]c,f32[8]c,f32[8,1,1];out=f32[1,8,6,6];acc=f32;"
       "math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1];"
       "epilogue=hard_swish,mul@3"});
  EXPECT_THROW(static_cast<void>(convolution_forms(spec, false)), Unsupported);
  HostKernels kernels;
  std::vector<HostForm> layers;
  for (const GraphForm& form : convolution_forms(spec, true)) {
    layers.push_back(host_form(spec, form, kernels));
    EXPECT_EQ(layers.back().plan.steps.size(), 3U);
    EXPECT_EQ(layers.back().plan.implementation, "+plumb:add+plumb:hard_swish+plumb:mul");
  }
  kernels.compile();
  expect_right(layers);
}

}  // namespace
}  // namespace plumb::cuda
