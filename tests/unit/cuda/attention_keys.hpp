// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plumb::cuda {

/// Attention as networks have it, small: what cuDNN is asked for as one graph.
inline constexpr const char* kAttentions[] = {
    "v1:attention;in=f16[2,2,5,16],f16[2,2,7,16],f16[2,2,7,8];out=f16[2,2,5,8];acc=f32;math=strict;"
    "causal=0;kv_heads=2;outputs=y;q_heads=2;scale=0.25;softcap=0.0",
    "v1:attention;in=bf16[1,4,8,32],bf16[1,2,8,32],bf16[1,2,8,32];out=bf16[1,4,8,32];acc=f32;"
    "math=strict;causal=1;kv_heads=2;outputs=y;q_heads=4;scale=0.25;softcap=0.0",
    "v1:attention;in=f16[2,5,64],f16[2,7,32],f16[2,7,32];out=f16[2,5,64];acc=f32;math=strict;"
    "causal=0;kv_heads=2;outputs=y;q_heads=4;scale=0.25;softcap=0.0",
    "v1:attention;in=f16[2,4,5,16],f16[2,2,7,16],f16[2,2,7,16],f16[2,1,5,7];out=f16[2,4,5,16];"
    "acc=f32;math=strict;causal=0;kv_heads=2;outputs=y;q_heads=4;scale=0.5;softcap=2.0",
    "v1:attention;in=bf16[2,4,5,16],bf16[2,2,7,16],bf16[2,2,7,16],f32[4,5,7];out=bf16[2,4,5,16];"
    "acc=f32;math=strict;causal=1;kv_heads=2;outputs=y;q_heads=4;scale=0.25;softcap=0.0",
    "v1:attention;in=f16[2,4,1,64],f16[2,1,24,64],f16[2,1,24,64];out=f16[2,4,1,64];acc=f32;"
    "math=strict;causal=0;kv_heads=1;outputs=y;q_heads=4;scale=0.125;softcap=0.0",
};

/// Its gradient likewise.
inline constexpr const char* kAttentionGradients[] = {
    "v1:attention_backward;in=f16[2,2,5,8],f16[2,2,5,16],f16[2,2,7,16],f16[2,2,7,8],f16[2,2,5,8],"
    "f32[2,2,5,1];out=f16[2,2,5,16],f16[2,2,7,16],f16[2,2,7,8];acc=f32;math=strict;causal=0;"
    "kv_heads=2;q_heads=2;scale=0.25",
    "v1:attention_backward;in=bf16[1,4,8,32],bf16[1,4,8,32],bf16[1,2,8,32],bf16[1,2,8,32],"
    "bf16[1,4,8,32],f32[1,4,8,1];out=bf16[1,4,8,32],bf16[1,2,8,32],bf16[1,2,8,32];acc=f32;"
    "math=strict;causal=1;kv_heads=2;q_heads=4;scale=0.25",
    "v1:attention_backward;in=f16[2,5,64],f16[2,5,64],f16[2,7,32],f16[2,7,32],f16[2,5,64],"
    "f32[2,4,5,1];out=f16[2,5,64],f16[2,7,32],f16[2,7,32];acc=f32;math=strict;causal=0;kv_heads=2;"
    "q_heads=4;scale=0.25",
};

}  // namespace plumb::cuda
