// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/layer_cases.hpp"

#include <array>

namespace plumb::contract {
namespace {

// One prefix and suffix for all: what is left is what a case is about.
#define PLUMB_CASE(name, operands, attributes)             \
  LayerCase {                                              \
    name, "v1:" operands ";acc=f32;math=strict" attributes \
  }

constexpr std::array kCases = std::to_array<LayerCase>({
    PLUMB_CASE("conv",
               "conv;in=f32[1,16,10,10],f32[32,16,3,3]c,f32[32]c;out=f32[1,32,10,10]",
               ";dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]"),
    PLUMB_CASE("conv_without_bias",
               "conv;in=f32[2,16,9,9],f32[8,16,1,1]c;out=f32[2,8,5,5]",
               ";dilations=[1,1];group=1;pads=[0,0,0,0];strides=[2,2]"),
    PLUMB_CASE("conv_asymmetric_pads",
               "conv;in=f32[1,3,8,8],f32[16,3,3,2]c,f32[16]c;out=f32[1,16,9,9]",
               ";dilations=[1,1];group=1;pads=[2,0,1,2];strides=[1,1]"),
    PLUMB_CASE("conv_depthwise",
               "conv;in=f32[1,16,8,8],f32[16,1,3,3]c,f32[16]c;out=f32[1,16,8,8]",
               ";dilations=[1,1];group=16;pads=[1,1,1,1];strides=[1,1]"),
    PLUMB_CASE("conv_grouped_dilated",
               "conv;in=f32[1,8,9,9],f32[12,4,3,3]c;out=f32[1,12,5,5]",
               ";dilations=[2,2];group=2;pads=[0,0,0,0];strides=[1,1]"),
    PLUMB_CASE("conv_1d",
               "conv;in=f32[1,4,20],f32[8,4,5]c,f32[8]c;out=f32[1,8,20]",
               ";dilations=[1];group=1;pads=[2,2];strides=[1]"),
    PLUMB_CASE("conv_3d",
               "conv;in=f32[1,4,5,6,7],f32[8,4,3,3,3]c;out=f32[1,8,5,6,7]",
               ";dilations=[1,1,1];group=1;pads=[1,1,1,1,1,1];strides=[1,1,1]"),
    PLUMB_CASE("conv_relu",
               "conv;in=f32[1,16,8,8],f32[16,16,3,3]c,f32[16]c;out=f32[1,16,8,8]",
               ";dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1];epilogue=relu"),
    PLUMB_CASE("conv_add_relu",
               "conv;in=f32[1,16,8,8],f32[16,16,3,3]c,f32[16]c,f32[1,16,8,8];out=f32[1,16,8,8]",
               ";dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1];epilogue=add@3,relu"),
    PLUMB_CASE("conv_clip",
               "conv;in=f32[1,16,8,8],f32[16,1,3,3]c,f32[16]c;out=f32[1,16,8,8]",
               ";dilations=[1,1];group=16;pads=[1,1,1,1];strides=[1,1];epilogue=clip(0.0,6.0)"),
    PLUMB_CASE("conv_bf16",
               "conv;in=bf16[1,16,10,10],bf16[32,16,3,3]c,bf16[32]c;out=bf16[1,32,10,10]",
               ";dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]"),
    PLUMB_CASE("conv_transpose",
               "conv_transpose;in=f32[1,8,5,5],f32[8,4,3,3]c,f32[4]c;out=f32[1,4,10,10]",
               ";dilations=[1,1];group=1;output_padding=[1,1];pads=[1,1,1,1];strides=[2,2]"),
    PLUMB_CASE("gemm",
               "gemm;in=f32[5,24],f32[17,24]c,f32[17]c;out=f32[5,17]",
               ";alpha=1.0;beta=1.0;trans_a=0;trans_b=1"),
    PLUMB_CASE("gemm_scaled",
               "gemm;in=f32[24,5],f32[24,17],f32[5,1];out=f32[5,17]",
               ";alpha=0.5;beta=2.0;trans_a=1;trans_b=0"),
    PLUMB_CASE("gemm_relu",
               "gemm;in=f32[5,24],f32[17,24]c,f32[17]c;out=f32[5,17]",
               ";alpha=1.0;beta=1.0;trans_a=0;trans_b=1;epilogue=relu"),
    PLUMB_CASE("matmul", "matmul;in=f32[2,3,8,16],f32[2,3,16,9];out=f32[2,3,8,9]", ""),
    PLUMB_CASE("matmul_broadcast", "matmul;in=f32[2,8,16],f32[16,9]c;out=f32[2,8,9]", ""),
    PLUMB_CASE("matmul_bf16", "matmul;in=bf16[8,32],bf16[32,16]c;out=bf16[8,16]", ""),
    PLUMB_CASE("batch_norm",
               "batch_norm;in=f32[2,16,5,5],f32[16]c,f32[16]c,f32[16]c,f32[16]c;out=f32[2,16,5,5]",
               ";epsilon=0.001;mode=spatial"),
    PLUMB_CASE("layer_norm",
               "layer_norm;in=f32[2,7,32],f32[32]c,f32[32]c;out=f32[2,7,32]",
               ";axis=2;epsilon=0.001"),
    PLUMB_CASE(
        "rms_norm", "rms_norm;in=f32[2,7,32],f32[32]c;out=f32[2,7,32]", ";axis=2;epsilon=0.001"),
    PLUMB_CASE("instance_norm",
               "instance_norm;in=f32[2,4,5,5],f32[4]c,f32[4]c;out=f32[2,4,5,5]",
               ";epsilon=0.001"),
    PLUMB_CASE("group_norm",
               "group_norm;in=f32[2,8,5,5],f32[8]c,f32[8]c;out=f32[2,8,5,5]",
               ";epsilon=0.001;groups=4"),
    PLUMB_CASE(
        "lrn", "lrn;in=f32[1,16,6,6];out=f32[1,16,6,6]", ";alpha=0.001;beta=0.75;bias=1.0;size=5"),
    PLUMB_CASE("max_pool",
               "max_pool;in=f32[1,16,9,9];out=f32[1,16,5,5]",
               ";ceil_mode=0;dilations=[1,1];kernel=[3,3];pads=[1,1,1,1];strides=[2,2]"),
    PLUMB_CASE("max_pool_ceil",
               "max_pool;in=f32[1,8,8,8];out=f32[1,8,4,4]",
               ";ceil_mode=1;dilations=[1,1];kernel=[3,3];pads=[0,0,0,0];strides=[2,2]"),
    PLUMB_CASE("average_pool_with_pads",
               "average_pool;in=f32[1,16,9,9];out=f32[1,16,5,5]",
               ";ceil_mode=0;count_include_pad=1;dilations=[1,1];kernel=[3,3];pads=[1,1,1,1];"
               "strides=[2,2]"),
    PLUMB_CASE("average_pool_without_pads",
               "average_pool;in=f32[1,16,9,9];out=f32[1,16,5,5]",
               ";ceil_mode=0;count_include_pad=0;dilations=[1,1];kernel=[3,3];pads=[1,1,1,1];"
               "strides=[2,2]"),
    PLUMB_CASE("global_average_pool",
               "average_pool;in=f32[2,16,7,7];out=f32[2,16,1,1]",
               ";ceil_mode=0;count_include_pad=0;dilations=[1,1];kernel=[7,7];pads=[0,0,0,0];"
               "strides=[1,1]"),
    PLUMB_CASE("lp_pool",
               "lp_pool;in=f32[1,4,6,6];out=f32[1,4,3,3]",
               ";ceil_mode=0;dilations=[1,1];kernel=[2,2];p=2;pads=[0,0,0,0];strides=[2,2]"),
    PLUMB_CASE("relu", "eltwise;in=f32[3,50];out=f32[3,50]", ";fn=relu;parameters=[]"),
    PLUMB_CASE("relu_bf16", "eltwise;in=bf16[3,50];out=bf16[3,50]", ";fn=relu;parameters=[]"),
    PLUMB_CASE("clip", "eltwise;in=f32[3,50];out=f32[3,50]", ";fn=clip;parameters=[0.0,6.0]"),
    PLUMB_CASE("gelu", "eltwise;in=f32[3,50];out=f32[3,50]", ";fn=gelu_erf;parameters=[]"),
    PLUMB_CASE("erf", "eltwise;in=f32[3,50];out=f32[3,50]", ";fn=erf;parameters=[]"),
    PLUMB_CASE("hard_swish", "eltwise;in=f32[3,50];out=f32[3,50]", ";fn=hard_swish;parameters=[]"),
    PLUMB_CASE("not", "eltwise;in=bool[50];out=bool[50]", ";fn=not;parameters=[]"),
    PLUMB_CASE("prelu", "prelu;in=f32[1,8,5,5],f32[8,1,1]c;out=f32[1,8,5,5]", ""),
    PLUMB_CASE("add", "binary;in=f32[1,16,5,5],f32[1,16,5,5];out=f32[1,16,5,5]", ";fn=add"),
    PLUMB_CASE("mul_broadcast", "binary;in=f32[1,16,5,5],f32[16,1,1];out=f32[1,16,5,5]", ";fn=mul"),
    PLUMB_CASE("add_both_broadcast", "binary;in=f32[4,1,3],f32[5,1];out=f32[4,5,3]", ";fn=add"),
    PLUMB_CASE("pow", "binary;in=f32[4,5],f32[];out=f32[4,5]", ";fn=pow"),
    PLUMB_CASE("less", "binary;in=f32[4,5],f32[4,5];out=bool[4,5]", ";fn=less"),
    PLUMB_CASE("div_integers", "binary;in=s64[20],s64[20];out=s64[20]", ";fn=div"),
    PLUMB_CASE("sum", "sum;in=f32[2,30],f32[2,30],f32[2,30];out=f32[2,30]", ""),
    PLUMB_CASE("softmax", "softmax;in=f32[2,3,20];out=f32[2,3,20]", ";axis=2;coerce=0;log=0"),
    PLUMB_CASE(
        "softmax_coerced", "softmax;in=f32[2,3,20];out=f32[2,3,20]", ";axis=1;coerce=1;log=0"),
    PLUMB_CASE("log_softmax", "softmax;in=f32[2,20];out=f32[2,20]", ";axis=1;coerce=0;log=1"),
    PLUMB_CASE("concat", "concat;in=f32[1,3,4,4],f32[1,5,4,4];out=f32[1,8,4,4]", ";axis=1"),
    PLUMB_CASE("split", "split;in=f32[2,9];out=f32[2,4],f32[2,5]", ";axis=1"),
    PLUMB_CASE("slice", "slice;in=f32[9,4];out=f32[3,4]", ";axes=[0];starts=[8];steps=[-3]"),
    PLUMB_CASE("pad",
               "pad;in=f32[1,2,4,4];out=f32[1,2,7,6]",
               ";mode=constant;pads=[0,0,1,2,0,0,2,0];value=0.5"),
    PLUMB_CASE("pad_reflect",
               "pad;in=f32[1,2,4,4];out=f32[1,2,6,6]",
               ";mode=reflect;pads=[0,0,1,1,0,0,1,1];value=0.0"),
    PLUMB_CASE("transpose", "transpose;in=f32[2,3,4,5];out=f32[2,4,3,5]", ";perm=[0,2,1,3]"),
    PLUMB_CASE("view", "view;in=f32[2,3,4];out=f32[6,4]", ""),
    PLUMB_CASE(
        "gather", "gather;in=f32[30,8]c,s64[2,5];out=f32[2,5,8]", ";axis=0;distribution=uniform"),
    PLUMB_CASE("resize_nearest",
               "resize;in=f32[1,4,5,5];out=f32[1,4,10,10]",
               ";antialias=0;coordinates=asymmetric;cubic_a=-0.75;exclude_outside=0;mode=nearest;"
               "nearest_mode=floor;scales=[1.0,1.0,2.0,2.0]"),
    PLUMB_CASE("resize_linear",
               "resize;in=f32[1,4,5,5];out=f32[1,4,10,10]",
               ";antialias=0;coordinates=half_pixel;cubic_a=-0.75;exclude_outside=0;mode=linear;"
               "nearest_mode=round_prefer_floor;scales=[1.0,1.0,2.0,2.0]"),
    PLUMB_CASE(
        "reduce_mean", "reduce;in=f32[2,5,7];out=f32[2,5,1]", ";axes=[2];fn=mean;keepdims=1"),
    PLUMB_CASE("reduce_sum", "reduce;in=f32[2,5,7];out=f32[5]", ";axes=[0,2];fn=sum;keepdims=0"),
    PLUMB_CASE("arg_max",
               "arg_reduce;in=f32[4,9];out=s64[4]",
               ";axis=1;fn=argmax;keepdims=0;select_last=0"),
    PLUMB_CASE("where", "where;in=bool[4,1],f32[5],f32[4,5];out=f32[4,5]", ""),
    PLUMB_CASE("cast", "cast;in=f32[30];out=s32[30]", ""),
    PLUMB_CASE("cast_to_bf16", "cast;in=f32[30];out=bf16[30]", ""),
    PLUMB_CASE("expand", "expand;in=f32[3,1];out=f32[2,3,4]", ""),
    PLUMB_CASE("tile", "tile;in=f32[2,3];out=f32[4,9]", ";repeats=[2,3]"),
    PLUMB_CASE(
        "depth_to_space", "depth_to_space;in=f32[1,8,3,3];out=f32[1,2,6,6]", ";block=2;mode=crd"),
    PLUMB_CASE("space_to_depth", "space_to_depth;in=f32[1,2,6,6];out=f32[1,8,3,3]", ";block=2"),
});

#undef PLUMB_CASE

}  // namespace

std::span<const LayerCase> layer_cases() {
  return kCases;
}

}  // namespace plumb::contract
