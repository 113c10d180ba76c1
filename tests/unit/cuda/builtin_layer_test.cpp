// SPDX-License-Identifier: Apache-2.0
// Our kernels, executed on the host: what NVRTC compiles for a GPU is compiled for the CPU, and
// computes every layer of the contract that it claims, in both layouts.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <set>

#include "harness/base/error.hpp"
#include "harness/model/key/quantized_product.hpp"
#include "runners/cuda/exec/kernel_compiler.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/engine/bench/verification.hpp"
#include "runners/engine/number_formats.hpp"
#include "tests/contract/layer_cases.hpp"
#include "tests/unit/cuda/host_kernels.hpp"

namespace plumb::cuda {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Layers beside the contract's: types, ranks and modes that those leave out.
constexpr const char* kMore[] = {
    "v1:eltwise;in=f16[2,5,7,3];out=f16[2,5,7,3];acc=f32;math=strict;fn=gelu_erf;parameters=[]",
    "v1:eltwise;in=bf16[2,5,7,3];out=bf16[2,5,7,3];acc=f32;math=strict;fn=silu;parameters=[]",
    "v1:eltwise;in=s64[9];out=s64[9];acc=s64;math=strict;fn=clip;parameters=[-3.0,inf]",
    "v1:eltwise;in=f64[40];out=f64[40];acc=f64;math=strict;fn=selu;parameters=[1.67,1.05]",
    "v1:eltwise;in=f32[40];out=f32[40];acc=f32;math=strict;fn=mish;parameters=[]",
    "v1:eltwise;in=f32[40];out=f32[40];acc=f32;math=strict;fn=celu;parameters=[0.7]",
    "v1:eltwise;in=f32[40];out=f32[40];acc=f32;math=strict;fn=round;parameters=[]",
    "v1:eltwise;in=f32[40];out=f32[40];acc=f32;math=strict;fn=hard_sigmoid;parameters=[0.2,0.5]",
    "v1:eltwise;in=f32[40];out=bool[40];acc=f32;math=strict;fn=is_nan;parameters=[]",
    "v1:binary;in=f32[4,5,6,7],f32[1,5,1,1];out=f32[4,5,6,7];acc=f32;math=strict;fn=sub",
    "v1:binary;in=s32[30],s32[30];out=s32[30];acc=s32;math=strict;fn=mod",
    "v1:binary;in=f32[30],f32[30];out=f32[30];acc=f32;math=strict;fn=fmod",
    "v1:binary;in=bool[6,5],bool[5];out=bool[6,5];acc=s32;math=strict;fn=xor",
    "v1:softmax;in=f16[3,300];out=f16[3,300];acc=f32;math=strict;axis=1;coerce=0;log=0",
    "v1:softmax;in=f32[2,5,4,3];out=f32[2,5,4,3];acc=f32;math=strict;axis=1;coerce=0;log=0",
    "v1:reduce;in=f32[3,400];out=f32[3];acc=f32;math=strict;axes=[1];fn=log_sum_exp;keepdims=0",
    "v1:reduce;in=f32[3,4,5,6];out=f32[3,1,5,1];acc=f32;math=strict;axes=[1,3];fn=l2;keepdims=1",
    "v1:reduce;in=s32[3,200];out=s32[3];acc=s32;math=strict;axes=[1];fn=min;keepdims=0",
    "v1:arg_reduce;in=f32[3,300];out=s64[3,1];acc=f32;math=strict;axis=1;fn=argmin;keepdims=1;"
    "select_last=1",
    "v1:average_pool;in=f32[1,4,7,7];out=f32[1,4,4,4];acc=f32;math=strict;ceil_mode=1;"
    "count_include_pad=1;dilations=[1,1];kernel=[2,2];pads=[0,0,0,0];strides=[2,2]",
    "v1:max_pool;in=bf16[1,3,9,9];out=bf16[1,3,5,5];acc=f32;math=strict;ceil_mode=0;"
    "dilations=[1,1];kernel=[3,3];pads=[1,1,1,1];strides=[2,2]",
    "v1:max_pool;in=f32[1,3,4,5,6];out=f32[1,3,3,4,5];acc=f32;math=strict;ceil_mode=0;"
    "dilations=[1,1,1];kernel=[2,2,2];pads=[0,0,0,0,0,0];strides=[1,1,1]",
    "v1:cast;in=bool[30];out=f32[30];acc=s32;math=strict",
    "v1:cast;in=f32[30];out=f16[30];acc=f32;math=strict",
    "v1:cast;in=s64[30];out=u8[30];acc=s64;math=strict",
    "v1:cast;in=f32[300];out=f8e4m3[300];acc=f32;math=strict",
    "v1:cast;in=f64[300];out=f8e5m2[300];acc=f64;math=strict",
    "v1:cast;in=s32[30];out=f8e5m2[30];acc=s32;math=strict",
    "v1:cast;in=f8e4m3[300];out=f16[300];acc=f32;math=strict",
    "v1:cast;in=f8e5m2[300];out=f8e4m3[300];acc=f32;math=strict",
    "v1:transpose;in=f8e4m3[6,8];out=f8e4m3[8,6];acc=f32;math=strict;perm=[1,0]",
    "v1:pad;in=f32[2,4,5];out=f32[2,6,8];acc=f32;math=strict;mode=edge;pads=[0,1,2,0,1,1];value=0."
    "0",
    "v1:gather;in=f16[4,6,3]c,s32[2];out=f16[4,2,3];acc=f32;math=strict;axis=1;"
    "distribution=uniform",
    "v1:slice;in=f32[1,6,8,8];out=f32[1,3,4,8];acc=f32;math=strict;axes=[1,2];starts=[1,0];"
    "steps=[2,2]",
    "v1:matmul_integer;in=u8[3,1,5,32],s8[2,32,4],-,s8[]c;out=s32[3,2,5,4];acc=s32;math=strict",
    "v1:matmul_integer;in=s8[32],u8[2,32,4];out=s32[2,4];acc=s32;math=strict",
    "v1:matmul_integer;in=s8[5,32],s8[32];out=s32[5];acc=s32;math=strict",
    "v1:matmul_integer;in=u8[32],u8[2,32,4],u8[1],u8[],f32[],f32[4],-,-,f32[2,1];out=f32[2,4];"
    "acc=s32;math=strict;epilogue=mul@8,leaky_relu(0.1),tanh",
    "v1:matmul_integer;in=s8[5,32],s8[32];out=s32[5];acc=s32;math=strict;epilogue=clip(-9.0,inf)",
    "v1:conv_integer;in=u8[2,8,11],u8[6,4,3],s32[6],u8[],u8[6];out=s32[2,6,10];acc=s32;math=strict;"
    "dilations=[2];group=2;pads=[1,2];strides=[1];epilogue=relu",
    "v1:conv_integer;in=s8[1,4,5,6,7],s8[6,4,2,3,1],-,s8[],s8[],f32[],f32[],f32[],s8[],f32[6,1,1,1]"
    ";"
    "out=s8[1,6,4,3,4];acc=s32;math=strict;dilations=[1,1,1];group=1;pads=[0,0,0,0,1,0];"
    "strides=[1,2,2];epilogue=mul@9,hard_swish",
    "v1:quantize;in=f16[2,6,5],f16[6]c,u8[6]c;out=u8[2,6,5];acc=f32;math=strict;axis=1",
    "v1:quantize;in=s32[40],f32[];out=s8[40];acc=s32;math=strict;axis=0",
    "v1:dequantize;in=s32[3,20],f32[20]c;out=f32[3,20];acc=s32;math=strict;axis=1",
    "v1:dequantize;in=u8[2,6,5],f16[6]c,u8[6]c;out=f16[2,6,5];acc=s32;math=strict;axis=1",
    "v1:gru;in=f64[4,3,5],f64[2,21,5],f64[2,21,7],f64[2,42],f64[2,3,7];out=f64[4,2,3,7],f64[2,3,7];"
    "acc=f64;math=strict;direction=bidirectional;layout=0;linear_before_reset=1;outputs=yh",
    "v1:lstm;in=f16[3,4,5],f16[2,28,5]c,f16[2,28,7]c,f16[2,56]c,f16[3,2,7],f16[3,2,7],f16[2,21]c;"
    "out=f16[3,4,2,7],f16[3,2,7],f16[3,2,7];acc=f32;math=strict;direction=bidirectional;layout=1;"
    "outputs=yhc",
    "v1:lstm;in=f32[4,2,5],f32[1,600,5],f32[1,600,150];out=f32[1,2,150];acc=f32;math=strict;"
    "direction=reverse;layout=0;outputs=c",
    "v1:attention;in=f16[1,2,3,8],f16[1,1,200,8],f16[1,1,200,300],f16[3,200];out=f16[1,2,3,300];"
    "acc=f32;math=strict;causal=0;kv_heads=1;outputs=y;q_heads=2;scale=0.35;softcap=0.0",
    "v1:attention;in=f64[1,2,3,8],f64[1,2,150,8],f64[1,2,150,8],bool[1,2,1,150];out=f64[1,2,3,8];"
    "acc=f64;math=strict;causal=1;kv_heads=2;outputs=y;q_heads=2;scale=0.35;softcap=0.0",
    "v1:transpose;in=f32[1,6,8,5];out=f32[1,8,5,6];acc=f32;math=strict;perm=[0,2,3,1]",
};

std::vector<std::string> all_keys() {
  std::vector<std::string> keys(std::begin(kMore), std::end(kMore));
  for (const contract::LayerCase& each : contract::layer_cases()) {
    keys.emplace_back(each.key);
  }
  return keys;
}

std::vector<HostLayer> all_layers() {
  std::vector<HostLayer> layers;
  for (const std::string& key : all_keys()) {
    const model::LayerSpec spec = model::parse_key({key});
    for (const TensorLayout layout : {TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast}) {
      try {
        layers.push_back({spec, builtin_layer(spec, layout), engine::random_operands(spec, 7)});
      } catch (const Unsupported&) {
        continue;
      }
    }
  }
  return layers;
}

TEST(BuiltinLayer, computes_what_the_reference_does_in_both_layouts) {
  const std::vector<HostLayer> layers = all_layers();
  const std::vector<std::vector<model::Tensor>> outputs = run_on_host(layers);
  std::set<std::string> ops;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const engine::Verdict verdict = engine::verify(layers[i].spec, layers[i].operands, outputs[i]);
    EXPECT_TRUE(verdict.outcome.ok())
        << model::to_key(layers[i].spec).text << " by " << layers[i].layer.launches[0].call
        << " in " << to_text(layers[i].layer.outputs[0]) << ": " << verdict.outcome.reason;
    ops.insert(layers[i].spec.op);
  }
  EXPECT_THAT(ops, SizeIs(47)) << "operators of the table that are tested";
  EXPECT_GT(layers.size(), 130U);
}

/// Casts to be run on the host, all compiled at once.
class HostCasts {
 public:
  /// Returns the number of the cast.
  std::size_t add(model::DataType from, model::DataType to, const std::vector<double>& numbers) {
    const auto count = static_cast<std::int64_t>(numbers.size());
    const model::LayerSpec spec =
        model::parse_key({fmt::format("v1:cast;in={}[{}];out={}[{}];acc=f32;math=strict",
                                      to_text(from),
                                      count,
                                      to_text(to),
                                      count)});
    layers_.push_back({spec,
                       builtin_layer(spec, TensorLayout::kChannelsFirst),
                       {engine::tensor_from({from, {count}}, numbers)}});
    return layers_.size() - 1;
  }
  void run() { outputs_ = run_on_host(layers_); }
  [[nodiscard]] std::vector<double> numbers(std::size_t cast) const {
    return engine::read_numbers(outputs_.at(cast).at(0));
  }

 private:
  std::vector<HostLayer> layers_;
  std::vector<std::vector<model::Tensor>> outputs_;
};

/// What is cast from and to one 8-bit type, and the numbers of the casts.
struct CastsOfType {
  model::DataType type;
  std::vector<double> all{};
  std::vector<double> between{1e9, -1e-9, 1e300, std::numeric_limits<double>::infinity()};
  std::size_t read = 0;
  std::size_t written = 0;
  std::size_t rounded = 0;
  std::size_t nan_read = 0;
  std::size_t nan_written = 0;
};

TEST(BuiltinLayer, rounds_to_8_bit_floats_once_and_reads_each_of_them) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<CastsOfType> types{{model::DataType::kF8E4M3}, {model::DataType::kF8E5M2}};
  HostCasts casts;
  for (CastsOfType& each : types) {
    for (std::uint8_t bits = 0; bits < 0x7C; ++bits) {  // to e5m2's infinity: numbers of both
      each.all.push_back(static_cast<double>(engine::float_from_f8(each.type, bits)));
      each.all.push_back(-each.all.back());
      const double next = static_cast<double>(
          engine::float_from_f8(each.type, static_cast<std::uint8_t>(bits + 1)));
      if (std::isfinite(next)) {
        const double middle = (std::fabs(each.all.back()) + next) / 2;
        for (const double factor : {1.0, 1 - 0x1p-40, 1 + 0x1p-40}) {
          each.between.push_back(middle * factor);
        }
      }
    }
    each.read = casts.add(each.type, model::DataType::kF32, each.all);
    each.written = casts.add(model::DataType::kF32, each.type, each.all);
    each.rounded = casts.add(model::DataType::kF64, each.type, each.between);
    each.nan_written = casts.add(model::DataType::kF32, each.type, {nan});
    each.nan_read = casts.add(each.type, model::DataType::kF32, {nan});
  }
  casts.run();
  for (const CastsOfType& each : types) {
    EXPECT_EQ(casts.numbers(each.read), each.all) << to_text(each.type);
    EXPECT_EQ(casts.numbers(each.written), each.all) << to_text(each.type);
    const model::Tensor expected = engine::tensor_from(
        {each.type, {static_cast<std::int64_t>(each.between.size())}}, each.between);
    EXPECT_EQ(casts.numbers(each.rounded), engine::read_numbers(expected)) << to_text(each.type);
    EXPECT_TRUE(std::isnan(casts.numbers(each.nan_written)[0]));
    EXPECT_TRUE(std::isnan(casts.numbers(each.nan_read)[0]));
  }
}

TEST(BuiltinLayer, has_every_key_of_8_bit_integers) {
  std::size_t count = 0;
  for (const std::string& key : all_keys()) {
    const model::LayerSpec spec = model::parse_key({key});
    if (model::is_integer_product(spec) || spec.op == "quantize" || spec.op == "dequantize") {
      EXPECT_NO_THROW(static_cast<void>(builtin_layer(spec, TensorLayout::kChannelsFirst))) << key;
      ++count;
    }
  }
  EXPECT_GT(count, 25U);
}

TEST(BuiltinLayer, says_what_it_has_no_kernel_for) {
  const auto refusal = [](const char* key) -> std::string {
    try {
      static_cast<void>(builtin_layer(model::parse_key({key}), TensorLayout::kChannelsFirst));
    } catch (const Unsupported& reason) {
      return reason.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("v1:reduce;in=f32[2,0,4];out=f32[2,4];acc=f32;math=strict;axes=[1];fn=max;"
                      "keepdims=0"),
              HasSubstr("without elements"));
  EXPECT_THAT(refusal("v1:matmul;in=f32[2,4],f32[4,4];out=f32[2,4];acc=f32;math=strict"),
              HasSubstr("'matmul'"));
  EXPECT_THAT(
      refusal("v1:matmul_integer;in=u8[5,32],s8[32,8],s8[];out=s32[5,8];acc=s32;math=strict"),
      HasSubstr("zero point of another type"));
  EXPECT_THAT(refusal("v1:eltwise;in=s32[4];out=s32[4];acc=s32;math=strict;fn=exp;parameters=[]"),
              HasSubstr("integers"));
}

TEST(BuiltinLayer, joins_axes_that_all_operands_step_through_alike) {
  const model::LayerSpec spec = model::parse_key(
      {"v1:binary;in=f32[4,5,6,7],f32[1,5,1,1];out=f32[4,5,6,7];acc=f32;math=strict;fn=add"});
  const BuiltinLayer layer = builtin_layer(spec, TensorLayout::kChannelsFirst);
  kernels::MapShape shape{};
  std::memcpy(&shape, layer.launches.at(0).shape.data(), sizeof shape);
  EXPECT_EQ(shape.space.rank, 3);
  EXPECT_EQ(shape.space.count, 840);
  EXPECT_EQ(shape.space.extents[2], 42);
  EXPECT_EQ(shape.space.strides[2][1], 1);
  EXPECT_EQ(shape.space.strides[2][2], 0);
}

class Compilation : public ::testing::TestWithParam<int> {};

TEST_P(Compilation, of_every_kernel_succeeds) {
  std::vector<std::string> names = KernelCompiler::default_names();
  names.insert(names.begin(), std::string(PLUMB_TEST_CUDA_FOLDER) + "/libnvrtc.so");
  try {
    const KernelCompiler compiler(names);
    std::string source = kernel_sources();
    std::set<std::string> calls;
    for (const HostLayer& layer : all_layers()) {
      for (const KernelLaunch& launch : layer.layer.launches) {
        if (calls.insert(launch.call).second) {
          source += entry_text(launch, "kernel_" + std::to_string(calls.size()));
        }
      }
    }
    EXPECT_GT(calls.size(), 50U);
    EXPECT_GT(compiler.compile(source, GetParam()).size(), 10'000U);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
}

// The oldest lacks what the others have.
INSTANTIATE_TEST_SUITE_P(Architectures, Compilation, ::testing::Values(75));
INSTANTIATE_TEST_SUITE_P(NightlyArchitectures, Compilation, ::testing::Values(80, 90, 100));

TEST(KernelCompiler, tells_the_compilers_words_and_how_to_get_it) {
  try {
    const KernelCompiler compiler({"libplumb-there-is-no-such-compiler.so"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("nvidia-cuda-nvrtc"));
  }
}

}  // namespace
}  // namespace plumb::cuda
