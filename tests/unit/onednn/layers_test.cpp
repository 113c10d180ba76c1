// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "runners/engine/bench/random_operands.hpp"
#include "runners/engine/bench/verification.hpp"
#include "runners/onednn/onednn_backend.hpp"
#include "tests/unit/onednn/layer_run.hpp"

namespace plumb::onednn {
namespace {

/// One layer to be computed in every way there is.
struct LayerCase {
  const char* name;
  const char* key;
};

void PrintTo(const LayerCase& layer, std::ostream* out) {
  *out << layer.key;
}

class OnednnLayer : public testing::TestWithParam<LayerCase> {};

TEST_P(OnednnLayer, every_variant_agrees_with_the_reference) {
  const model::LayerKey key{GetParam().key};
  const model::LayerSpec spec = model::parse_key(key);
  const std::unique_ptr<worker::Backend> backend = make_onednn_backend();
  const std::vector<worker::Variant> variants = backend->variants(key);
  if (variants.empty() && spec.outputs[0].dtype == model::DataType::kBf16 && !has_bf16(*backend)) {
    GTEST_SKIP() << backend->supports(key).reason;
  }
  ASSERT_FALSE(variants.empty()) << backend->supports(key).reason;
  const std::vector<model::Tensor> operands = engine::random_operands(spec, 11);
  const engine::Verifier verifier(spec, operands);
  for (const worker::Variant& variant : variants) {
    const engine::Verifier::Verdict verdict =
        verifier.verify(run(*backend, key, variant.text, operands));
    EXPECT_TRUE(verdict.outcome.ok()) << variant.text << ": " << verdict.outcome.reason;
    EXPECT_GT(verdict.compared, 0U);
  }
}

#define PLUMB_F32 ";acc=f32;math=strict"

const LayerCase kConvolutions[] = {
    {"plain",
     "v1:conv;in=f32[2,8,9,7],f32[16,8,3,3]c;out=f32[2,16,9,7]" PLUMB_F32
     ";dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]"},
    {"asymmetric_pads_strides_bias",
     "v1:conv;in=f32[1,3,11,10],f32[16,3,5,3]c,f32[16]c;out=f32[1,16,5,5]" PLUMB_F32
     ";dilations=[1,1];group=1;pads=[2,0,1,1];strides=[2,2]"},
    {"dilated",
     "v1:conv;in=f32[1,16,12,12],f32[16,16,3,3]c;out=f32[1,16,8,8]" PLUMB_F32
     ";dilations=[2,2];group=1;pads=[0,0,0,0];strides=[1,1]"},
    {"grouped",
     "v1:conv;in=f32[1,16,8,8],f32[32,4,3,3]c,f32[32]c;out=f32[1,32,8,8]" PLUMB_F32
     ";dilations=[1,1];group=4;pads=[1,1,1,1];strides=[1,1]"},
    {"depthwise",
     "v1:conv;in=f32[1,32,8,8],f32[32,1,3,3]c;out=f32[1,32,4,4]" PLUMB_F32
     ";dilations=[1,1];group=32;pads=[1,1,1,1];strides=[2,2]"},
    {"one_dimension",
     "v1:conv;in=f32[1,8,20],f32[8,8,3]c;out=f32[1,8,20]" PLUMB_F32
     ";dilations=[1];group=1;pads=[1,1];strides=[1]"},
    {"three_dimensions",
     "v1:conv;in=f32[1,8,5,6,7],f32[16,8,3,3,3]c;out=f32[1,16,5,6,7]" PLUMB_F32
     ";dilations=[1,1,1];group=1;pads=[1,1,1,1,1,1];strides=[1,1,1]"},
    {"weights_not_constant",
     "v1:conv;in=f32[1,8,6,6],f32[8,8,1,1];out=f32[1,8,6,6]" PLUMB_F32
     ";dilations=[1,1];group=1;pads=[0,0,0,0];strides=[1,1]"},
    {"bf16",
     "v1:conv;in=bf16[1,32,8,8],bf16[32,32,3,3]c,bf16[32]c;out=bf16[1,32,8,8]" PLUMB_F32
     ";dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]"},
    {"residual_add_and_relu",
     "v1:conv;in=f32[1,16,8,8],f32[16,16,3,3]c,f32[16]c,f32[1,16,8,8];out=f32[1,16,8,8]" PLUMB_F32
     ";dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1];epilogue=add@3,relu"},
    {"clip_behind",
     "v1:conv;in=f32[1,16,8,8],f32[16,16,1,1]c;out=f32[1,16,8,8]" PLUMB_F32
     ";dilations=[1,1];group=1;pads=[0,0,0,0];strides=[1,1];epilogue=clip(0.0,6.0)"},
    {"transposed_grouped_output_padding",
     "v1:conv_transpose;in=f32[1,8,5,5],f32[8,4,3,3]c,f32[8]c;out=f32[1,8,10,10]" PLUMB_F32
     ";dilations=[1,1];group=2;output_padding=[1,1];pads=[1,1,1,1];strides=[2,2]"},
    {"transposed_asymmetric",
     "v1:conv_transpose;in=f32[1,4,4,4],f32[4,6,3,3]c;out=f32[1,6,8,7]" PLUMB_F32
     ";dilations=[1,1];group=1;output_padding=[0,0];pads=[0,1,1,1];strides=[2,2]"},
};

const LayerCase kProducts[] = {
    {"gemm",
     "v1:gemm;in=f32[3,20],f32[20,10]c,f32[10]c;out=f32[3,10]" PLUMB_F32
     ";alpha=1.0;beta=1.0;trans_a=0;trans_b=0"},
    {"gemm_transposed_weights",
     "v1:gemm;in=f32[3,20],f32[10,20]c,f32[10]c;out=f32[3,10]" PLUMB_F32
     ";alpha=1.0;beta=1.0;trans_a=0;trans_b=1"},
    {"gemm_both_transposed_no_bias",
     "v1:gemm;in=f32[20,3],f32[10,20];out=f32[3,10]" PLUMB_F32
     ";alpha=0.5;beta=1.0;trans_a=1;trans_b=1"},
    {"gemm_factors",
     "v1:gemm;in=f32[3,20],f32[20,10]c,f32[3,10];out=f32[3,10]" PLUMB_F32
     ";alpha=0.25;beta=2.0;trans_a=0;trans_b=0"},
    {"gemm_equal_factors",
     "v1:gemm;in=f32[3,20],f32[20,10]c,f32[1,10]c;out=f32[3,10]" PLUMB_F32
     ";alpha=3.0;beta=3.0;trans_a=0;trans_b=0;epilogue=relu"},
    {"gemm_column_added",
     "v1:gemm;in=f32[3,20],f32[20,10]c,f32[3,1];out=f32[3,10]" PLUMB_F32
     ";alpha=1.0;beta=1.0;trans_a=0;trans_b=0"},
    {"gemm_beta_zero",
     "v1:gemm;in=f32[3,20],f32[20,10]c,f32[10];out=f32[3,10]" PLUMB_F32
     ";alpha=1.0;beta=0.0;trans_a=0;trans_b=0"},
    {"gemm_bf16",
     "v1:gemm;in=bf16[4,64],bf16[64,32]c,bf16[32]c;out=bf16[4,32]" PLUMB_F32
     ";alpha=1.0;beta=1.0;trans_a=0;trans_b=0;epilogue=gelu_erf"},
    {"matmul", "v1:matmul;in=f32[5,6],f32[6,7]c;out=f32[5,7]" PLUMB_F32},
    {"matmul_batched", "v1:matmul;in=f32[2,3,5,6],f32[2,3,6,7];out=f32[2,3,5,7]" PLUMB_F32},
    {"matmul_broadcast", "v1:matmul;in=f32[2,1,5,6],f32[3,6,7];out=f32[2,3,5,7]" PLUMB_F32},
    {"matmul_vector_left", "v1:matmul;in=f32[6],f32[2,6,7];out=f32[2,7]" PLUMB_F32},
    {"matmul_vector_right", "v1:matmul;in=f32[2,5,6],f32[6];out=f32[2,5]" PLUMB_F32},
    {"matmul_vectors", "v1:matmul;in=f32[6],f32[6];out=f32[]" PLUMB_F32},
    {"matmul_fused",
     "v1:matmul;in=f32[2,5,6],f32[6,8]c,f32[8]c;out=f32[2,5,8]" PLUMB_F32
     ";epilogue=add@2,gelu_erf"},
    {"matmul_residual",
     "v1:matmul;in=f32[2,5,6],f32[6,8]c,f32[2,5,8];out=f32[2,5,8]" PLUMB_F32
     ";epilogue=add@2,relu"},
    {"matmul_column_operand",
     "v1:matmul;in=f32[2,5,6],f32[6,8]c,f32[5,1];out=f32[2,5,8]" PLUMB_F32 ";epilogue=mul@2"},
    {"matmul_bf16", "v1:matmul;in=bf16[2,16,32],bf16[32,48]c;out=bf16[2,16,48]" PLUMB_F32},
};

const LayerCase kNormalizations[] = {
    {"batch_norm",
     "v1:batch_norm;in=f32[2,16,5,5],f32[16]c,f32[16]c,f32[16]c,f32[16]c;out=f32[2,16,5,"
     "5]" PLUMB_F32 ";epsilon=1e-05;mode=spatial"},
    {"batch_norm_2d",
     "v1:batch_norm;in=f32[4,6],f32[6]c,f32[6]c,f32[6]c,f32[6]c;out=f32[4,6]" PLUMB_F32
     ";epsilon=1e-05;mode=spatial"},
    {"batch_norm_relu",
     "v1:batch_norm;in=f32[2,16,5,5],f32[16]c,f32[16]c,f32[16]c,f32[16]c;out=f32[2,16,5,"
     "5]" PLUMB_F32 ";epsilon=1e-05;mode=spatial;epilogue=relu"},
    {"batch_norm_bf16",
     "v1:batch_norm;in=bf16[2,16,5,5],bf16[16]c,bf16[16]c,bf16[16]c,bf16[16]c;out=bf16[2,16,5,"
     "5]" PLUMB_F32 ";epsilon=1e-05;mode=spatial"},
    {"batch_norm_per_activation",
     "v1:batch_norm;in=f32[2,3,2],f32[3,2]c,f32[3,2]c,f32[3,2]c,f32[3,2]c;out=f32[2,3,2]" PLUMB_F32
     ";epsilon=1e-05;mode=per_activation"},
    {"layer_norm",
     "v1:layer_norm;in=f32[2,5,24],f32[24]c,f32[24]c;out=f32[2,5,24]" PLUMB_F32
     ";axis=2;epsilon=1e-05"},
    {"layer_norm_two_axes",
     "v1:layer_norm;in=f32[3,4,6],f32[4,6]c;out=f32[3,4,6]" PLUMB_F32 ";axis=1;epsilon=1e-05"},
    {"layer_norm_bf16",
     "v1:layer_norm;in=bf16[2,5,24],bf16[24]c,bf16[24]c;out=bf16[2,5,24]" PLUMB_F32
     ";axis=2;epsilon=1e-05"},
    {"rms_norm",
     "v1:rms_norm;in=f32[2,5,24],f32[24]c;out=f32[2,5,24]" PLUMB_F32 ";axis=2;epsilon=1e-05"},
    {"instance_norm",
     "v1:instance_norm;in=f32[2,3,4,4],f32[3]c,f32[3]c;out=f32[2,3,4,4]" PLUMB_F32
     ";epsilon=1e-05"},
    {"group_norm",
     "v1:group_norm;in=f32[2,6,4,4],f32[6]c,f32[6]c;out=f32[2,6,4,4]" PLUMB_F32
     ";epsilon=1e-05;groups=3"},
    {"lrn",
     "v1:lrn;in=f32[1,16,6,6];out=f32[1,16,6,6]" PLUMB_F32
     ";alpha=1e-04;beta=0.75;bias=1.0;size=5"},
    {"lrn_even",
     "v1:lrn;in=f32[1,7,3,3];out=f32[1,7,3,3]" PLUMB_F32 ";alpha=0.5;beta=0.75;bias=1.0;size=4"},
    {"softmax", "v1:softmax;in=f32[2,3,10];out=f32[2,3,10]" PLUMB_F32 ";axis=2;coerce=0;log=0"},
    {"softmax_middle_axis_log",
     "v1:softmax;in=f32[2,3,10];out=f32[2,3,10]" PLUMB_F32 ";axis=1;coerce=0;log=1"},
    {"softmax_coerced",
     "v1:softmax;in=f32[2,3,10];out=f32[2,3,10]" PLUMB_F32 ";axis=1;coerce=1;log=0"},
    {"softmax_bf16", "v1:softmax;in=bf16[4,32];out=bf16[4,32]" PLUMB_F32 ";axis=1;coerce=0;log=0"},
};

const LayerCase kPools[] = {
    {"max",
     "v1:max_pool;in=f32[1,16,9,9];out=f32[1,16,5,5]" PLUMB_F32
     ";ceil_mode=0;dilations=[1,1];kernel=[3,3];pads=[1,1,1,1];strides=[2,2]"},
    {"max_ceil",
     "v1:max_pool;in=f32[1,16,10,10];out=f32[1,16,5,5]" PLUMB_F32
     ";ceil_mode=1;dilations=[1,1];kernel=[3,3];pads=[0,0,0,0];strides=[2,2]"},
    {"max_dilated_asymmetric",
     "v1:max_pool;in=f32[1,4,9,9];out=f32[1,4,6,7]" PLUMB_F32
     ";ceil_mode=0;dilations=[2,2];kernel=[3,3];pads=[1,2,0,0];strides=[1,1]"},
    {"max_1d",
     "v1:max_pool;in=f32[1,8,9];out=f32[1,8,8]" PLUMB_F32
     ";ceil_mode=0;dilations=[1];kernel=[2];pads=[0,0];strides=[1]"},
    {"max_bf16",
     "v1:max_pool;in=bf16[1,16,8,8];out=bf16[1,16,4,4]" PLUMB_F32
     ";ceil_mode=0;dilations=[1,1];kernel=[2,2];pads=[0,0,0,0];strides=[2,2]"},
    {"average",
     "v1:average_pool;in=f32[1,16,8,8];out=f32[1,16,8,8]" PLUMB_F32
     ";ceil_mode=0;count_include_pad=0;dilations=[1,1];kernel=[3,3];pads=[1,1,1,1];strides=[1,1]"},
    {"average_with_pads",
     "v1:average_pool;in=f32[1,16,8,8];out=f32[1,16,8,8]" PLUMB_F32
     ";ceil_mode=0;count_include_pad=1;dilations=[1,1];kernel=[3,3];pads=[1,1,1,1];strides=[1,1]"},
    {"average_ceil_with_pads",
     "v1:average_pool;in=f32[1,4,6,6];out=f32[1,4,4,4]" PLUMB_F32
     ";ceil_mode=1;count_include_pad=1;dilations=[1,1];kernel=[3,3];pads=[1,1,1,1];strides=[2,2]"},
    {"average_global",
     "v1:average_pool;in=f32[1,32,7,7];out=f32[1,32,1,1]" PLUMB_F32
     ";ceil_mode=0;count_include_pad=0;dilations=[1,1];kernel=[7,7];pads=[0,0,0,0];strides=[1,1]"},
    {"average_3d",
     "v1:average_pool;in=f32[1,4,4,4,4];out=f32[1,4,2,2,2]" PLUMB_F32
     ";ceil_mode=0;count_include_pad=0;dilations=[1,1,1];kernel=[2,2,2];pads=[0,0,0,0,0,0];strides="
     "[2,2,2]"},
    {"lp",
     "v1:lp_pool;in=f32[1,4,6,6];out=f32[1,4,3,3]" PLUMB_F32
     ";ceil_mode=0;dilations=[1,1];kernel=[2,2];p=2;pads=[0,0,0,0];strides=[2,2]"},
};

const LayerCase kElementwise[] = {
    {"prelu", "v1:prelu;in=f32[2,16,5,5],f32[16,1,1]c;out=f32[2,16,5,5]" PLUMB_F32},
    {"add", "v1:binary;in=f32[2,16,5,5],f32[2,16,5,5];out=f32[2,16,5,5]" PLUMB_F32 ";fn=add"},
    {"add_relu",
     "v1:binary;in=f32[2,16,5,5],f32[2,16,5,5];out=f32[2,16,5,5]" PLUMB_F32
     ";fn=add;epilogue=relu"},
    {"mul_channel",
     "v1:binary;in=f32[2,16,5,5],f32[16,1,1]c;out=f32[2,16,5,5]" PLUMB_F32 ";fn=mul"},
    {"sub_left_broadcast", "v1:binary;in=f32[],f32[2,16];out=f32[2,16]" PLUMB_F32 ";fn=sub"},
    {"div_both_broadcast", "v1:binary;in=f32[4,1],f32[5];out=f32[4,5]" PLUMB_F32 ";fn=div"},
    {"greater", "v1:binary;in=f32[4,6],f32[4,6];out=bool[4,6]" PLUMB_F32 ";fn=greater"},
    {"less_left_broadcast", "v1:binary;in=f32[6],f32[4,6];out=bool[4,6]" PLUMB_F32 ";fn=less"},
    {"add_s64", "v1:binary;in=s64[4,6],s64[6];out=s64[4,6];acc=s64;math=strict;fn=add"},
    {"and", "v1:binary;in=bool[4,6],bool[4,6];out=bool[4,6];acc=f32;math=strict;fn=and"},
    {"pow", "v1:binary;in=f32[4,6],f32[];out=f32[4,6]" PLUMB_F32 ";fn=pow"},
    {"max_bf16", "v1:binary;in=bf16[4,16],bf16[16];out=bf16[4,16]" PLUMB_F32 ";fn=max"},
    {"sum", "v1:sum;in=f32[2,8],f32[2,8],f32[2,8];out=f32[2,8]" PLUMB_F32},
    {"where", "v1:where;in=bool[4,1],f32[4,6],f32[];out=f32[4,6]" PLUMB_F32},
    {"cast_f32_bf16", "v1:cast;in=f32[3,5];out=bf16[3,5]" PLUMB_F32},
    {"cast_bf16_f32", "v1:cast;in=bf16[3,5];out=f32[3,5]" PLUMB_F32},
    {"cast_f32_s64", "v1:cast;in=f32[3,5];out=s64[3,5]" PLUMB_F32},
    {"cast_s64_f32", "v1:cast;in=s64[3,5];out=f32[3,5]" PLUMB_F32},
    {"cast_s32_bool", "v1:cast;in=s32[3,5];out=bool[3,5];acc=s32;math=strict"},
};

const LayerCase kMovements[] = {
    {"concat_channels",
     "v1:concat;in=f32[1,16,4,4],f32[1,8,4,4];out=f32[1,24,4,4]" PLUMB_F32 ";axis=1"},
    {"concat_last", "v1:concat;in=f32[2,3],f32[2,4],f32[2,1];out=f32[2,8]" PLUMB_F32 ";axis=1"},
    {"concat_s64", "v1:concat;in=s64[2,3],s64[2,4];out=s64[2,7];acc=s64;math=strict;axis=1"},
    {"split", "v1:split;in=f32[2,9,4];out=f32[2,3,4],f32[2,2,4],f32[2,4,4]" PLUMB_F32 ";axis=1"},
    {"split_s64", "v1:split;in=s64[2,6];out=s64[2,2],s64[2,4];acc=s64;math=strict;axis=1"},
    {"slice",
     "v1:slice;in=f32[3,8,9];out=f32[3,3,4]" PLUMB_F32 ";axes=[1,2];starts=[1,2];steps=[2,1]"},
    {"slice_backwards",
     "v1:slice;in=f32[3,8];out=f32[3,4]" PLUMB_F32 ";axes=[1];starts=[7];steps=[-2]"},
    {"pad_constant",
     "v1:pad;in=f32[2,3,4];out=f32[2,6,5]" PLUMB_F32 ";mode=constant;pads=[0,1,0,0,2,1];value=1.5"},
    {"pad_reflect",
     "v1:pad;in=f32[4,5];out=f32[8,7]" PLUMB_F32 ";mode=reflect;pads=[2,1,2,1];value=0.0"},
    {"pad_edge", "v1:pad;in=f32[4,5];out=f32[8,7]" PLUMB_F32 ";mode=edge;pads=[2,1,2,1];value=0.0"},
    {"pad_negative",
     "v1:pad;in=f32[4,5];out=f32[3,6]" PLUMB_F32 ";mode=constant;pads=[-1,0,0,1];value=0.0"},
    {"transpose", "v1:transpose;in=f32[2,3,4,5];out=f32[2,4,3,5]" PLUMB_F32 ";perm=[0,2,1,3]"},
    {"transpose_matrix", "v1:transpose;in=bf16[17,33];out=bf16[33,17]" PLUMB_F32 ";perm=[1,0]"},
    {"transpose_s64", "v1:transpose;in=s64[2,3,4];out=s64[4,2,3];acc=s64;math=strict;perm=[2,0,1]"},
    {"view", "v1:view;in=f32[2,3,4];out=f32[6,4]" PLUMB_F32},
    {"gather",
     "v1:gather;in=f32[10,6]c,s64[2,3];out=f32[2,3,6]" PLUMB_F32 ";axis=0;distribution=uniform"},
    {"gather_inner",
     "v1:gather;in=f32[4,7],s32[3];out=f32[4,3];acc=f32;math=strict;axis=1;distribution=uniform"},
    {"expand", "v1:expand;in=f32[3,1];out=f32[2,3,4]" PLUMB_F32},
    {"tile", "v1:tile;in=f32[2,3];out=f32[4,9]" PLUMB_F32 ";repeats=[2,3]"},
    {"depth_to_space_dcr",
     "v1:depth_to_space;in=f32[1,8,2,3];out=f32[1,2,4,6]" PLUMB_F32 ";block=2;mode=dcr"},
    {"depth_to_space_crd",
     "v1:depth_to_space;in=f32[1,8,2,3];out=f32[1,2,4,6]" PLUMB_F32 ";block=2;mode=crd"},
    {"space_to_depth", "v1:space_to_depth;in=f32[1,2,4,6];out=f32[1,8,2,3]" PLUMB_F32 ";block=2"},
};

#define PLUMB_RESIZE(coordinates, mode, nearest)                                        \
  ";antialias=0;coordinates=" coordinates ";cubic_a=-0.75;exclude_outside=0;mode=" mode \
  ";nearest_mode=" nearest

const LayerCase kShrinkAndGrow[] = {
    {"resize_nearest_asymmetric",
     "v1:resize;in=f32[1,16,4,5];out=f32[1,16,8,10]" PLUMB_F32 PLUMB_RESIZE(
         "asymmetric", "nearest", "floor") ";scales=[1.0,1.0,2.0,2.0]"},
    {"resize_nearest_down",
     "v1:resize;in=f32[1,2,7,8];out=f32[1,2,4,3]" PLUMB_F32 PLUMB_RESIZE(
         "half_pixel", "nearest", "round_prefer_floor") ";scales=[1.0,1.0,0.6,0.4]"},
    {"resize_linear_half_pixel",
     "v1:resize;in=f32[1,16,4,5];out=f32[1,16,8,10]" PLUMB_F32 PLUMB_RESIZE(
         "half_pixel", "linear", "round_prefer_floor") ";scales=[1.0,1.0,2.0,2.0]"},
    {"resize_linear_align_corners",
     "v1:resize;in=f32[1,2,4,5];out=f32[1,2,8,10]" PLUMB_F32 PLUMB_RESIZE(
         "align_corners", "linear", "round_prefer_floor") ";scales=[1.0,1.0,2.0,2.0]"},
    {"resize_cubic",
     "v1:resize;in=f32[1,2,4,5];out=f32[1,2,8,10]" PLUMB_F32 PLUMB_RESIZE(
         "half_pixel", "cubic", "round_prefer_floor") ";scales=[1.0,1.0,2.0,2.0]"},
    {"reduce_mean",
     "v1:reduce;in=f32[2,16,5,5];out=f32[2,16,1,1]" PLUMB_F32 ";axes=[2,3];fn=mean;keepdims=1"},
    {"reduce_sum_dropped",
     "v1:reduce;in=f32[2,6,5];out=f32[2,5]" PLUMB_F32 ";axes=[1];fn=sum;keepdims=0"},
    {"reduce_max", "v1:reduce;in=f32[2,6,5];out=f32[2,6]" PLUMB_F32 ";axes=[2];fn=max;keepdims=0"},
    {"reduce_min", "v1:reduce;in=f32[2,6,5];out=f32[]" PLUMB_F32 ";axes=[0,1,2];fn=min;keepdims=0"},
    {"reduce_prod",
     "v1:reduce;in=f32[2,6,5];out=f32[2,6]" PLUMB_F32 ";axes=[2];fn=prod;keepdims=0"},
    {"reduce_l1", "v1:reduce;in=f32[2,6,5];out=f32[2,6]" PLUMB_F32 ";axes=[2];fn=l1;keepdims=0"},
    {"reduce_l2", "v1:reduce;in=f32[2,6,5];out=f32[2,6]" PLUMB_F32 ";axes=[2];fn=l2;keepdims=0"},
    {"reduce_sum_square",
     "v1:reduce;in=f32[2,6,5];out=f32[2,6]" PLUMB_F32 ";axes=[2];fn=sum_square;keepdims=0"},
    {"reduce_log_sum_exp",
     "v1:reduce;in=f32[2,6,5];out=f32[2,6]" PLUMB_F32 ";axes=[2];fn=log_sum_exp;keepdims=0"},
    {"reduce_nothing",
     "v1:reduce;in=f32[2,1,5];out=f32[2,1,5]" PLUMB_F32 ";axes=[1];fn=sum;keepdims=1"},
    {"argmax",
     "v1:arg_reduce;in=f32[3,7];out=s64[3];acc=f32;math=strict;axis=1;fn=argmax;keepdims=0;select_"
     "last=0"},
    {"argmin",
     "v1:arg_reduce;in=f32[3,7];out=s64[1,7];acc=f32;math=strict;axis=0;fn=argmin;keepdims=1;"
     "select_last=1"},
};

std::string name_of(const testing::TestParamInfo<LayerCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Convolution, OnednnLayer, testing::ValuesIn(kConvolutions), name_of);
INSTANTIATE_TEST_SUITE_P(Product, OnednnLayer, testing::ValuesIn(kProducts), name_of);
INSTANTIATE_TEST_SUITE_P(Normalization, OnednnLayer, testing::ValuesIn(kNormalizations), name_of);
INSTANTIATE_TEST_SUITE_P(Pool, OnednnLayer, testing::ValuesIn(kPools), name_of);
INSTANTIATE_TEST_SUITE_P(Elementwise, OnednnLayer, testing::ValuesIn(kElementwise), name_of);
INSTANTIATE_TEST_SUITE_P(Movement, OnednnLayer, testing::ValuesIn(kMovements), name_of);
INSTANTIATE_TEST_SUITE_P(ShrinkAndGrow, OnednnLayer, testing::ValuesIn(kShrinkAndGrow), name_of);

}  // namespace
}  // namespace plumb::onednn
