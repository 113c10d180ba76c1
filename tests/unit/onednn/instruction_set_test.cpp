// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runners/onednn/exec/machine.hpp"

namespace plumb::onednn {
namespace {

// Of dnnl_cpu_isa_t, whose header is the backend's alone.
constexpr unsigned kAvx2 = 0x7;
constexpr unsigned kAvx2Vnni = 0xf;
constexpr unsigned kAvx512 = 0x27;
constexpr unsigned kAvx512Vnni = 0x67;
constexpr unsigned kAvx512Bf16 = 0xe7;
constexpr unsigned kAvx2Vnni2 = 0x1f;
constexpr unsigned kAvx512Fp16 = 0x1ef;
constexpr unsigned kAmx = 0xfef;

TEST(InstructionSet, is_called_as_the_library_calls_its_limit) {
  EXPECT_EQ(instruction_set_text(kAvx512Bf16), "AVX512_CORE_BF16");
  EXPECT_EQ(instruction_set_text(0x12345), "0x12345");
}

TEST(InstructionSet, has_vnni_by_its_bits) {
  for (const unsigned bits : {kAvx2Vnni, kAvx512Vnni, kAvx512Bf16}) {
    EXPECT_TRUE(has_vnni(bits)) << instruction_set_text(bits);
  }
  for (const unsigned bits : {0U, kAvx2, kAvx512}) {
    EXPECT_FALSE(has_vnni(bits)) << instruction_set_text(bits);
  }
}

TEST(InstructionSet, has_f16_by_its_bits) {
  for (const unsigned bits : {kAvx2Vnni2, kAvx512Fp16, kAmx}) {
    EXPECT_TRUE(has_f16(bits)) << instruction_set_text(bits);
  }
  for (const unsigned bits : {0U, kAvx2, kAvx2Vnni, kAvx512Vnni, kAvx512Bf16}) {
    EXPECT_FALSE(has_f16(bits)) << instruction_set_text(bits);
  }
  EXPECT_EQ(instruction_set_text(kAvx512Fp16), "AVX512_CORE_FP16") << "the bits are the header's";
  EXPECT_EQ(instruction_set_text(kAvx2Vnni2), "AVX2_VNNI_2");
}

TEST(InstructionSet, of_an_implementation_is_before_vnni_only_where_it_is_known_to_be) {
  for (const char* const name : {"sse41", "avx", "avx2", "avx512_core"}) {
    EXPECT_TRUE(is_before_vnni(name)) << name;
  }
  for (const char* const name : {"avx2_vnni",
                                 "avx512_core_vnni",
                                 "avx512_core_bf16",
                                 "avx512_core_amx",
                                 "sve_512",
                                 "default",
                                 ""}) {
    EXPECT_FALSE(is_before_vnni(name)) << name;
  }
}

}  // namespace
}  // namespace plumb::onednn
