// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/stacks/stack_probe.hpp"

namespace plumb::stacks {
namespace {

using Reasons = std::map<std::string, std::string>;

// Lines as oneDNN 3.2.0 and 3.12.1 printed them.
constexpr const char* kVersion32 =
    "onednn_verbose,info,oneDNN v3.2.0 (commit 40112196287e8866a7259df35f817229454d0c96)\n"
    "onednn_verbose,create:dispatch,brgemm_matmul,datatype configuration not supported on this "
    "isa,src/cpu/x64/matmul/brgemm_matmul_utils.cpp:943\n"
    "onednn_verbose,create:dispatch,matmul,cpu,matmul,brg:avx512_core_amx,undef,"
    "src_f32:a:any:any::f0 wei_f32:a:any:any::f0 dst_f32:a:any:any::f0,"
    "attr-scratchpad:user attr-post-ops:binary_add:f32:2 ,,1x256:256x10,unsupported isa,"
    "src/cpu/x64/matmul/brgemm_matmul.cpp:101\n";
constexpr const char* kVersion312 =
    "onednn_verbose,v1,primitive,create:dispatch,convolution,unsupported feature for padding: "
    "f,t,l padding not supported,./src/cpu/x64/jit_avx512_common_1x1_conv_kernel.cpp:680\n"
    "onednn_verbose,v1,primitive,create:dispatch,convolution,cpu,convolution,jit_1x1:avx512_core,"
    "forward_inference,src:f32:a:any:any::f0 wei:f32:a:any:any::f0 bia:f32::blocked:a::f0 "
    "dst:f32:a:any:any::f0,attr-scratchpad:user,alg:convolution_winograd,"
    "mb1_ic512oc1000_ih13oh13kh1sh1dh0ph0_iw13ow13kw1sw1dw0pw0,bad algorithm,"
    "./src/cpu/x64/jit_avx512_common_1x1_convolution.hpp:61\n"
    "onednn_verbose,v1,primitive,create:dispatch,convolution,cpu,convolution,jit_uni_ncsp:,"
    "forward_inference,src:f32:a:any:any::f0 wei:f32:a:any:any::f0 bia:f32::blocked:a::f0 "
    "dst:f32:a:any:any::f0,attr-scratchpad:user,alg:convolution_direct,"
    "mb1_ic512oc1000_ih13oh13kh1sh1dh0ph0_iw13ow13kw1sw1dw0pw0,unsupported format tag,"
    "./src/cpu/x64/jit_uni_ncsp_convolution.cpp:225\n";

TEST(DispatchLog, names_what_was_passed_over_and_why) {
  EXPECT_EQ(dispatch_reasons(kVersion32), (Reasons{{"brg:avx512_core_amx", "unsupported isa"}}));
  EXPECT_EQ(dispatch_reasons(kVersion312), (Reasons{{"jit_uni_ncsp:", "unsupported format tag"}}));
}

TEST(DispatchLog, keeps_each_reason_once_with_its_commas) {
  const std::string line =
      "onednn_verbose,v1,primitive,create:dispatch,convolution,cpu,convolution,jit:avx2,"
      "forward_inference,memory,,alg:convolution_direct,problem,";
  EXPECT_EQ(dispatch_reasons(line + "one, or two,file.cpp:1\n" + line + "three,file.cpp:2\n" +
                             line + "three,file.cpp:3\n"),
            (Reasons{{"jit:avx2", "one, or two; three"}}));
}

TEST(DispatchLog, leaves_out_what_is_no_such_message) {
  EXPECT_TRUE(dispatch_reasons("").empty());
  EXPECT_TRUE(dispatch_reasons("create:dispatch,,,,,,,,,,,\n,,,,\nonednn_verbose").empty());
  EXPECT_TRUE(dispatch_reasons("onednn_verbose,create:dispatch,conv,cpu,conv,jit,a,b,c,d").empty());
}

}  // namespace
}  // namespace plumb::stacks
