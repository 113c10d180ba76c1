// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "harness/analysis/compare/comparison_result.hpp"

namespace plumb::analysis {
namespace {

TEST(ImplementationName, reads_family_and_instruction_set) {
  const auto name = implementation_name("impl=jit_wino_4x3:avx512_core;layout=any;algorithm=auto");
  EXPECT_EQ(name.family, "winograd");
  EXPECT_EQ(name.instruction_set, "avx512_core");
  EXPECT_EQ(implementation_name("impl=jit:sse41;layout=any").instruction_set, "sse41");
  EXPECT_EQ(implementation_name("impl=x64:gemm:jit;layout=nchw"),
            (RunComparison::Implementation{"gemm", ""}));
  EXPECT_EQ(implementation_name("impl=jit_uni_dw:avx2").family, "jit_depthwise");
  EXPECT_EQ(implementation_name("impl=ref:any").family, "reference");
}

TEST(ImplementationName, takes_a_renamed_implementation_for_the_same) {
  EXPECT_EQ(implementation_name("impl=brgconv:avx512_core"),
            implementation_name("impl=brg_conv_fwd:avx512_core"));
  EXPECT_NE(implementation_name("impl=brgconv:avx512_core"),
            implementation_name("impl=brgconv:avx2"));
}

TEST(ImplementationName, is_the_whole_text_where_it_knows_nothing) {
  EXPECT_EQ(implementation_name("algorithm=direct").family, "algorithm=direct");
  EXPECT_EQ(implementation_name("").family, "");
}

}  // namespace
}  // namespace plumb::analysis
