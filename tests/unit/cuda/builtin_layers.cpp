// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cuda/builtin_layers.hpp"

#include <fmt/format.h>

#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "tests/contract/layer_cases.hpp"

namespace plumb::cuda {
namespace {

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
    "v1:batch_norm_training;in=bf16[3,6,5,4],f32[6],f32[6];out=bf16[3,6,5,4],f32[6],f32[6];acc=f32;"
    "math=strict;epsilon=0.001",
    "v1:gather_backward;in=f32[40,6],s32[40];out=f32[7,6];acc=f32;math=strict;axis=0;"
    "distribution=uniform",
    "v1:gather_backward;in=f32[2,300,150],s64[300];out=f32[2,9,150];acc=f32;math=strict;axis=1;"
    "distribution=uniform",
};

/// Functions of one element with their parameters.
constexpr std::pair<const char*, const char*> kFunctions[] = {
    {"relu", ""},          {"leaky_relu", "0.1"},
    {"elu", "0.7"},        {"selu", "1.67,1.05"},
    {"celu", "0.7"},       {"sigmoid", ""},
    {"tanh", ""},          {"softplus", ""},
    {"softsign", ""},      {"hard_sigmoid", "0.2,0.5"},
    {"hard_swish", ""},    {"silu", ""},
    {"gelu_erf", ""},      {"gelu_tanh", ""},
    {"mish", ""},          {"thresholded_relu", "0.3"},
    {"clip", "-0.5,0.5"},  {"exp", ""},
    {"log", ""},           {"sqrt", ""},
    {"reciprocal", ""},    {"abs", ""},
    {"neg", ""},           {"erf", ""},
    {"sin", ""},           {"cos", ""},
    {"linear", "0.5,-1.0"}};
constexpr const char* kRoundings[] = {"sign", "floor", "ceil", "round"};  // no gradient
constexpr const char* kArithmetic[] = {
    "add", "sub", "mul", "div", "max", "min", "pow", "mod", "fmod"};
constexpr const char* kComparisons[] = {"equal", "greater", "less", "greater_equal", "less_equal"};
constexpr const char* kLogic[] = {"and", "or", "xor"};

/// Adds updates of tensors that are cut into several chunks, and of more tensors than one launch
/// updates, and a loss scale that follows as many gradients.
void add_updates(std::vector<std::string>& keys) {
  const auto add = [&keys](const char* op,
                           const char* numbers,
                           std::size_t states,
                           const std::vector<std::size_t>& tensors,
                           const char* condition = "") {
    std::string in;
    std::string out;
    for (const std::size_t count : tensors) {
      for (std::size_t i = 0; i < states + 2; ++i) {
        const std::string type = fmt::format("f32[{}],", i == 4 ? 1 : count);
        in += type;
        out += i == 1 ? "" : type;
      }
    }
    in.pop_back();
    out.pop_back();
    keys.push_back(fmt::format(
        "v1:{};in={}{};out={};acc=f32;math=strict;{}", op, in, condition, out, numbers));
  };
  std::vector<std::size_t> many(50, 3);
  many.push_back(2500);
  for (const std::vector<std::size_t>& tensors : {std::vector<std::size_t>{5000, 7, 2048}, many}) {
    add("sgd", "decay=0.01;momentum=0.9;rate=0.1", 1, tensors);
    add("sgd", "decay=0.01;momentum=0.0;rate=0.1", 0, tensors);
    add("adam",
        "beta1=0.9;beta2=0.999;decay=0.1;decay_of=weights;epsilon=0.001;rate=0.1",
        3,
        tensors);
    add("lamb", "beta1=0.9;beta2=0.999;decay=0.1;epsilon=0.001;rate=0.1", 3, tensors);
  }
  add("lamb", "beta1=0.9;beta2=0.999;decay=0.1;epsilon=0.001;rate=0.1", 3, many, ",f32[1]");
  std::string gradients;
  for (const std::size_t count : many) {
    gradients += fmt::format(",f32[{}]", count);
  }
  keys.push_back(
      fmt::format("v1:loss_scale;in=f32[1],f32[1]{};out=f32[1],f32[1],f32[1];acc=f32;math=strict;"
                  "backoff=0.5;growth=2.0;interval=2000",
                  gradients));
}

/// Adds a layer of each function, since each is a template's argument by its name.
void add_functions(std::vector<std::string>& keys) {
  for (const auto& [fn, parameters] : kFunctions) {
    keys.push_back(
        fmt::format("v1:eltwise;in=f32[40];out=f32[40];acc=f32;math=strict;fn={};parameters=[{}]",
                    fn,
                    parameters));
    keys.push_back(
        fmt::format("v1:eltwise_backward;in=f32[40],f32[40];out=f32[40];acc=f32;"
                    "math=strict;fn={};parameters=[{}]",
                    fn,
                    parameters));
  }
  for (const char* const fn : kRoundings) {
    keys.push_back(fmt::format(
        "v1:eltwise;in=f32[40];out=f32[40];acc=f32;math=strict;fn={};parameters=[]", fn));
  }
  const auto add = [&keys](const char* fn, const char* from, const char* to) {
    keys.push_back(fmt::format(
        "v1:binary;in={0}[30],{0}[30];out={1}[30];acc=f32;math=strict;fn={2}", from, to, fn));
  };
  for (const char* const fn : kArithmetic) {
    add(fn, "f32", "f32");
  }
  for (const char* const fn : kComparisons) {
    add(fn, "f32", "bool");
  }
  for (const char* const fn : kLogic) {
    add(fn, "bool", "bool");
  }
}

}  // namespace

std::vector<std::string> builtin_keys() {
  std::vector<std::string> keys(std::begin(kMore), std::end(kMore));
  add_functions(keys);
  add_updates(keys);
  for (const contract::LayerCase& each : contract::layer_cases()) {
    keys.emplace_back(each.key);
  }
  return keys;
}

std::vector<HostLayer> builtin_layers() {
  std::vector<HostLayer> layers;
  for (const std::string& key : builtin_keys()) {
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

}  // namespace plumb::cuda
