// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "runners/cuda/driver/cublas_abi.hpp"
#include "runners/cuda/observe/kernel_attributes.hpp"

namespace plumb::cuda {
namespace {

/// Names of kernels in cuDNN 9.19 and cuBLAS 13.1, and in public traces of them.
struct NamedKernel {
  const char* name;
  std::optional<bool> used;
  bool benanza = false;
};

constexpr NamedKernel kKernels[] = {
    {"volta_fp16_s884cudnn_fp16_128x128_ldg8_relu_f2f_exp_small_nhwc2nchw_tn_v1", true, true},
    {"turing_fp16_s1688cudnn_fp16_256x64_ldg8_relu_f2f_exp_large_nhwc_tn_v1", true, true},
    {"ampere_fp16_s16816cudnn_fp16_128x64_sliced1x2_ldg8_relu_f2f_exp_stages_64x4_small_nhwc_tn_v1",
     true,
     true},
    {"ampere_fp16_i8816cudnn_int8_128x128_ldg16_relu_small_nt_v1", true, true},
    {"volta_h884gemm_128x128_ldg8_nn", true, true},
    {"ampere_sgemm_128x64_tn", false},
    {"ampere_scudnn_128x64_stridedB_splitK_interior_nn_v1", false},
    {"ampere_hcudnn_128x128_stridedB_xregs_large_nn_v1", false},
    {"ampere_fp16_scudnn_fp16_128x128_stridedB_splitK_small_nn_v1", false},
    {"ampere_int8x4_icudnn_int8x4_128x64_sliced1x2_ldg2_ldg1_relu_exp_interior_nhwc_tn_v1", false},
    {"ampere_uint8x4_icudnn_uint8x4_int8x4_128x32_relu_interior_c32_nn_v1", false},
    {"ampere_int8_i8816cudnn_int8_256x64_ldg16_relu_singleBuffer_medium_nt_v1", true, true},
    {"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x64x32_stage5_"
     "warpsize2x2x1_g1_tensor16x8x8_execute_split_k_kernel__5x_cudnn",
     true},
    {"sm80_xmma_fprop_implicit_gemm_indexed_wo_smem_f32f32_f32f32_f32_nchwkcrs_nchw_"
     "tilesize128x32x8_stage3_warpsize2x2x1_g1_ffma_aligna4_alignc4_execute_kernel__5x_cudnn",
     false},
    {"sm90_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_"
     "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
     true},
    {"_ZN17cutlass__5x_cudnn6KernelI66cutlass_tensorop_s1688dgrad_optimized_tf32_128x64_32x3_nhwc_"
     "align4EEvNT_6ParamsE",
     true,
     true},
    {"cutlass_80_simt_sgemm_128x32_8x5_nn_align1", false},
    {"cutlass3x_sm100_bstensorop_s256x128x64gemm_block_scaled_ue4m3", true, true},
    {"nvjet_hsh_192x192_64x3_2x1_v_bz_coopB_NTN", true},
    {"void fmha_cutlassF_f16_aligned_64x64_rf_sm80", true},
    {"void implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1, false, false, true>(int)",
     std::nullopt},
    {"_ZN5cudnn19engines_precompiled16nchwToNhwcKernelIdadLb1ELb0EL21cudnnKernelDataType_t2EEEv",
     std::nullopt},
    {"_ZN5cudnn17winograd_nonfused26winogradForwardData9x9_5x5IffEEvNS0_18WinogradDataParamsIT_E",
     std::nullopt},
    {"plumb_map_one_relu_of_float_float_float", false},
    {"splitKreduce_kernel", std::nullopt},
    {"", std::nullopt},
};

TEST(TensorCoreUse, is_told_by_the_names_of_kernels) {
  for (const NamedKernel& kernel : kKernels) {
    EXPECT_EQ(tensor_cores_by_name(kernel.name), kernel.used) << kernel.name;
    EXPECT_EQ(benanza_tensor_cores(kernel.name), kernel.benanza) << kernel.name;
  }
}

TEST(TensorCoreUse, takes_the_first_evidence_there_is_and_names_it) {
  const std::string ordinary = "ampere_sgemm_128x64_tn";
  TensorCoreEvidence evidence{.product_flags = abi::kLtHmma | abi::kLtInputF16,
                              .engine_notes = std::vector<std::string>{},
                              .kernels = {ordinary}};
  EXPECT_EQ(tensor_core_attributes(evidence),
            (results::Attributes{{"tensor_cores", "yes"},
                                 {"tensor_cores.source", "cuBLASLt's flags"},
                                 {"tensor_cores.names", "no"},
                                 {"tensor_cores.benanza", "no"}}));
  evidence.product_flags = abi::kLtFma;
  EXPECT_EQ(tensor_core_attributes(evidence).at("tensor_cores"), "no");
  evidence.product_flags = abi::kLtAccumulatorF32;  // says nothing of what multiplies
  evidence.engine_notes = {"TENSOR_CORE", "WINOGRAD"};
  EXPECT_EQ(tensor_core_attributes(evidence).at("tensor_cores"), "yes");
  EXPECT_EQ(tensor_core_attributes(evidence).at("tensor_cores.source"), "cuDNN's notes");
  evidence = {.product_flags = {}, .engine_notes = {}, .kernels = {ordinary}};
  EXPECT_EQ(tensor_core_attributes(evidence).at("tensor_cores"), "no");
  EXPECT_EQ(tensor_core_attributes(evidence).at("tensor_cores.source"), "kernel names");
}

TEST(TensorCoreUse, stays_unknown_where_nothing_says_it) {
  const results::Attributes nothing = tensor_core_attributes({});
  EXPECT_EQ(nothing.at("tensor_cores"), "unknown");
  EXPECT_FALSE(nothing.contains("tensor_cores.benanza")) << "no kernel was seen";
  const TensorCoreEvidence half{.product_flags = {},
                                .engine_notes = {},
                                .kernels = {"ampere_sgemm_128x64_tn", "splitKreduce_kernel"}};
  EXPECT_EQ(tensor_core_attributes(half).at("tensor_cores"), "unknown")
      << "one kernel's name says nothing";
}

TEST(TensorCoreUse, what_flags_and_notes_decided_stands) {
  const results::Attributes seen = tensor_core_attributes(
      {.product_flags = {}, .engine_notes = {}, .kernels = {"ampere_sgemm_128x64_tn"}});
  results::Attributes beside = seen;
  keep_decision(beside, {{"tensor_cores", "yes"}, {"tensor_cores.source", "cuDNN's notes"}});
  EXPECT_EQ(beside,
            (results::Attributes{{"tensor_cores.names", "no"}, {"tensor_cores.benanza", "no"}}));
  for (const results::Attributes& open :
       {results::Attributes{}, results::Attributes{{"tensor_cores", "unknown"}}}) {
    results::Attributes decided = seen;
    keep_decision(decided, open);
    EXPECT_EQ(decided, seen);
  }
}

TEST(TensorCoreUse, one_kernel_is_enough) {
  const TensorCoreEvidence two{
      .product_flags = {},
      .engine_notes = {},
      .kernels = {"splitKreduce_kernel", "nvjet_hsh_192x192_64x3_2x1_v_bz_coopB_NTN"}};
  EXPECT_EQ(tensor_core_attributes(two).at("tensor_cores"), "yes");
  EXPECT_EQ(tensor_core_attributes(two).at("tensor_cores.benanza"), "no")
      << "the paper's expression knows no kernels of Hopper";
}

TEST(TensorCoreUse, a_name_of_any_length_ends) {
  EXPECT_EQ(tensor_cores_by_name(std::string(1'000'000, 'u')), std::nullopt);
}

TEST(TensorCoreUse, flags_are_written_by_name) {
  EXPECT_EQ(flags_text(abi::kLtHmma | abi::kLtAccumulatorF32 | abi::kLtInputTf32),
            "HMMA,ACCUMULATOR_32F,INPUT_TF32");
  EXPECT_EQ(flags_text(abi::kLtImma | (std::uint64_t{1} << 40)), "IMMA,0x10000000000");
  EXPECT_EQ(flags_text(0), "");
}

}  // namespace
}  // namespace plumb::cuda
