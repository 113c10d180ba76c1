// SPDX-License-Identifier: Apache-2.0
#include "harness/base/error.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "runners/engine/bench/random_operands.hpp"
#include "runners/onednn/onednn_backend.hpp"
#include "tests/unit/onednn/layer_run.hpp"

namespace plumb::onednn {
namespace {

class HostileKey : public testing::TestWithParam<const char*> {};

/// A key can name attributes that contradict its shapes: nothing may be read or written beyond an
/// operand, whatever it says (run under the sanitizers too).
TEST_P(HostileKey, is_refused_or_computed_within_its_operands) {
  const model::LayerKey key{std::string(GetParam())};
  const std::unique_ptr<worker::Backend> backend = make_onednn_backend();
  model::LayerSpec spec;
  try {
    spec = model::parse_key(key);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    return;
  }
  const std::vector<worker::Variant> variants = backend->variants(key);
  if (variants.empty()) {
    EXPECT_EQ(backend->supports(key).kind, results::Outcome::Kind::kUnsupported);
    EXPECT_FALSE(backend->supports(key).reason.empty());
    return;
  }
  for (const worker::Variant& variant : variants) {
    static_cast<void>(run(*backend, key, variant.text, engine::random_operands(spec, 3)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Keys,
    HostileKey,
    testing::Values(
        "v1:matmul;in=f32[1048576,1048576],f32[1048576,1048576]c;out=f32[1048576,1048576];acc=f32;"
        "math=strict",
        "v1:matmul;in=f32[1048576,4],f32[4,1048576]c;out=f32[1048576,1048576];acc=f32;math=strict",
        "v1:lstm;in=f32[2,1,4],f32[1,0,4]c,f32[1,0,0]c;out=f32[2,1,1,0];acc=f32;math=strict;"
        "direction=forward;layout=0;outputs=y",
        "v1:lstm;in=f32[2,1,0],f32[1,16,0]c,f32[1,16,4]c;out=f32[2,1,1,4];acc=f32;math=strict;"
        "direction=forward;layout=0;outputs=y",
        "v1:lstm;in=f32[2,0,4],f32[1,16,4]c,f32[1,16,4]c;out=f32[2,1,0,4];acc=f32;math=strict;"
        "direction=forward;layout=0;outputs=y",
        "v1:slice;in=f32[4];out=f32[9];acc=f32;math=strict;axes=[0];starts=[0];steps=[1]",
        "v1:slice;in=f32[4];out=f32[3];acc=f32;math=strict;axes=[0];starts=[3];steps=[1]",
        "v1:slice;in=f32[4];out=f32[3];acc=f32;math=strict;axes=[7];starts=[0];steps=[1]",
        "v1:slice;in=f32[4];out=f32[3];acc=f32;math=strict;axes=[0];starts=[0];steps=["
        "4611686018427387904]",
        "v1:transpose;in=f32[2,3];out=f32[3,2];acc=f32;math=strict;perm=[0,1]",
        "v1:transpose;in=f32[2,3];out=f32[3,2];acc=f32;math=strict;perm=[1,9]",
        "v1:split;in=f32[4,2];out=f32[3,2],f32[3,2];acc=f32;math=strict;axis=0",
        "v1:concat;in=f32[2,3],f32[2,3];out=f32[2,7];acc=f32;math=strict;axis=1",
        "v1:gather;in=f32[4],s64[2];out=f32[3];acc=f32;math=strict;axis=0;distribution=uniform",
        "v1:expand;in=f32[3];out=f32[4];acc=f32;math=strict",
        "v1:tile;in=f32[3];out=f32[4];acc=f32;math=strict;repeats=[2]",
        "v1:tile;in=f32[0];out=f32[4];acc=f32;math=strict;repeats=[2]",
        "v1:pad;in=f32[3];out=f32[9];acc=f32;math=strict;mode=wrap;pads=[-4611686018427387904,1];"
        "value=0.0",
        "v1:pad;in=f32[3];out=f32[9];acc=f32;math=strict;mode=constant;pads=[4611686018427387904,"
        "4611686018427387904];value=0.0",
        "v1:transpose;in=f32[0,1099511627776,1099511627776];out=f32[0,1099511627776,1099511627776];"
        "acc=f32;math=strict;perm=[0,1,2]",
        "v1:transpose;in=f32[0,1073741824,1073741824];out=f32[0,1073741824,1073741824];acc=f32;"
        "math=strict;perm=[0,1,2]",
        "v1:max_pool;in=f32[1,1,4];out=f32[1,1,1099511627776];acc=f32;math=strict;ceil_mode=0;"
        "dilations=[1073741824];kernel=[1073741824];pads=[0,0];strides=[1073741824]",
        "v1:view;in=f32[3];out=f32[4];acc=f32;math=strict",
        "v1:depth_to_space;in=f32[1,8,2,2];out=f32[1,2,4,4];acc=f32;math=strict;block=3;mode=dcr",
        "v1:reduce;in=f32[2,3];out=f32[2];acc=f32;math=strict;axes=[5];fn=sum;keepdims=0",
        "v1:reduce;in=f32[2,3];out=f32[9];acc=f32;math=strict;axes=[1];fn=log_sum_exp;keepdims=0",
        "v1:arg_reduce;in=f32[2,3];out=s64[2];acc=f32;math=strict;axis=-1;fn=argmax;keepdims=0;"
        "select_last=0",
        "v1:softmax;in=f32[2,3];out=f32[2,3];acc=f32;math=strict;axis=9;coerce=0;log=0",
        "v1:conv;in=f32[1],f32[1];out=f32[1];acc=f32;math=strict;dilations=[];group=1;pads=[];"
        "strides=[]",
        "v1:conv;in=f32[1,4,4,4],f32[4,4,3,3]c;out=f32[1,4,4,4];acc=f32;math=strict;dilations=[1,1]"
        ";group=0;"
        "pads=[1,1,1,1];strides=[1,1]",
        "v1:conv;in=f32[1,4,4,4],f32[4,4,3,3]c;out=f32[1,4,4,4];acc=f32;math=strict;dilations=[1,1]"
        ";group=1;"
        "pads=[1,1,1,1];strides=[0,0]",
        "v1:conv;in=f32[1,4,4,4],f32[4,4,3,3]c;out=f32[1,4,9,9];acc=f32;math=strict;dilations=[1,1]"
        ";group=1;"
        "pads=[1,1,1,1];strides=[1,1]",
        "v1:max_pool;in=f32[1,4,4,4];out=f32[1,4,4,4];acc=f32;math=strict;ceil_mode=0;dilations=[1,"
        "1];kernel=[0,0];"
        "pads=[0,0,0,0];strides=[0,0]",
        "v1:conv_backward_data;in=f32[1,4,2,2],f32[4,4,3,3];out=f32[1,4,9,4];acc=f32;math=strict;"
        "dilations=[1,1];group=1;pads=[0,0,0,0];strides=[1,1]",
        "v1:conv_backward_data;in=f32[1,4,2,2],f32[4,0,3,3];out=f32[1,0,4,4];acc=f32;math=strict;"
        "dilations=[1,1];group=1;pads=[0,0,0,0];strides=[1,1]",
        "v1:conv_backward_weights;in=f32[0,4,2,2],f32[0,4,4,4];out=f32[4,4,3,3],f32[4];acc=f32;"
        "math=strict;dilations=[1,1];group=1;outputs=wb;pads=[0,0,0,0];strides=[1,1]",
        "v1:gemm_bias_gradient;in=f32[4,0],f32[0,6];out=f32[4,6],f32[6];acc=f32;math=strict;"
        "alpha=1.0;of=b;trans_a=0;trans_b=0",
        "v1:gemm;in=f32[2,3],f32[3,0],-,u8[2,0];out=f32[2,0];acc=f32;math=strict;alpha=1.0;"
        "beta=1.0;trans_a=0;trans_b=0;epilogue=bit_mask@3",
        "v1:gemm;in=f32[2,3],f32[3,4],-,f32[4];out=f32[2,4];acc=f32;math=strict;alpha=1.0;"
        "beta=1.0;trans_a=0;trans_b=0;epilogue=relu_backward@3",
        "v1:gemm;in=f32[2,3],f32[3,4],-,bf16[2,4];out=f32[2,4];acc=f32;math=strict;alpha=1.0;"
        "beta=1.0;trans_a=0;trans_b=0;epilogue=relu_backward@3",
        "v1:layer_norm_backward;in=f32[0,4],f32[0,4],f32[4],f32[0,1],f32[0,1];"
        "out=f32[0,4],f32[4],f32[4];acc=f32;math=strict;axis=1;epsilon=1e-05",
        "v1:max_pool_backward;in=f32[1,1,2],f32[1,1,4];out=f32[1,1,4];acc=f32;math=strict;"
        "ceil_mode=0;dilations=[1073741824];kernel=[1073741824];pads=[0,0];strides=[1073741824]",
        "v1:lp_pool;in=f32[1,1,4];out=f32[1,1,4];acc=f32;math=strict;ceil_mode=0;dilations=[1];"
        "kernel=[2];p=1;"
        "pads=[4611686018427387904,0];strides=[1]",
        "v1:layer_norm;in=f32[2,4],f32[3]c;out=f32[2,4];acc=f32;math=strict;axis=1;epsilon=1e-05",
        "v1:group_norm;in=f32[2,4,2],f32[4]c,f32[4]c;out=f32[2,4,2];acc=f32;math=strict;epsilon=1e-"
        "05;groups=0",
        "v1:batch_norm;in=f32[2,4],f32[9]c,f32[4]c,f32[4]c,f32[4]c;out=f32[2,4];acc=f32;math="
        "strict;epsilon=1e-05;"
        "mode=spatial",
        "v1:gemm;in=f32[2,3],f32[4,5]c;out=f32[2,5];acc=f32;math=strict;alpha=1.0;beta=1.0;trans_a="
        "0;trans_b=0",
        "v1:gemm;in=f32[2,3],f32[3,5]c,f32[7];out=f32[2,5];acc=f32;math=strict;alpha=1.0;beta=1.0;"
        "trans_a=0;trans_b=0",
        "v1:matmul;in=f32[2,3],f32[3];out=f32[2,3,4,5];acc=f32;math=strict",
        "v1:matmul;in=f32[3],f32[3];out=f32[2,2];acc=f32;math=strict",
        "v1:binary;in=f32[2,3],f32[4];out=f32[2,3];acc=f32;math=strict;fn=pow",
        "v1:prelu;in=f32[2,3],f32[7]c;out=f32[2,3];acc=f32;math=strict",
        "v1:eltwise;in=f32[2,3];out=f32[9];acc=f32;math=strict;fn=erf;parameters=[]",
        "v1:sum;in=f32[2],f32[3],f32[2];out=f32[2];acc=f32;math=strict",
        "v1:where;in=bool[2],f32[2],f32[2];out=f32[9];acc=f32;math=strict",
        "v1:relu;in=f32[2];out=f32[2];acc=f32;math=strict"));

}  // namespace
}  // namespace plumb::onednn
