// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/base/error.hpp"
#include "runners/cuda/blas/cublas.hpp"
#include "runners/cuda/reproducer/reproducer_source.hpp"

namespace plumb::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kConvolution =
    "v1:conv;in=f16[8,256,14,14],f16[256,256,3,3]c;out=f16[8,256,14,14];acc=f32;math=strict;"
    "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]";
constexpr const char* kProduct =
    "v1:matmul;in=f32[64,256],f32[256,128]c;out=f32[64,128];acc=f32;math=tf32";

results::Measurement timed(const std::string& variant) {
  results::Measurement row;
  row.variant = variant;
  row.samples = {Seconds(1e-5), Seconds(1.25e-5), Seconds(1.5e-5)};
  row.summary = measure::summarize(row.samples);
  row.workspace = Bytes{4096};
  return row;
}

std::string file_of(const worker::Reproducer& reproducer, const std::string& name) {
  for (const worker::Reproducer::File& file : reproducer.files) {
    EXPECT_TRUE(worker::is_plain_file_name(file.name)) << file.name;
    if (file.name == name) {
      return file.text;
    }
  }
  return "";
}

std::string refusal_of(const worker::Reproducer::Request& request) {
  try {
    static_cast<void>(reproduce(request, "x"));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    return error.what();
  }
  return "";
}

TEST(CudaReproducer, an_engine_is_written_with_graph_knobs_time_and_plan) {
  results::Measurement row = timed("impl=cudnn;layout=NHWC;engine=62;TILE_SIZE=5;#44=7");
  row.attributes["plan"] = R"({"engine":{"engineId":62}})";
  const worker::Reproducer made = reproduce({{kConvolution}, {row}, 9}, "cuDNN 9.19 on \"it\"");
  const std::string source = file_of(made, "main.cpp");
  EXPECT_THAT(source, HasSubstr(R"(kLibrary = "cuDNN 9.19 on \"it\"";)"));
  EXPECT_THAT(source, HasSubstr("kSeed = 9U;"));
  EXPECT_THAT(source, HasSubstr("{50176, 1, 3584, 256}")) << "the input's strides in NHWC";
  EXPECT_THAT(source, HasSubstr("builder.convolution(Builder::Direction::forward, "));
  EXPECT_THAT(source, HasSubstr("{CUDNN_KNOB_TYPE_TILE_SIZE, 5}"));
  EXPECT_THAT(source, HasSubstr("{static_cast<cudnnBackendKnobType_t>(44), 7}"));
  EXPECT_THAT(source, HasSubstr("{1.25e-05, 1e-05, 1.5e-05, 3}"));
  EXPECT_EQ(file_of(made, "plan-0.json"), "{\"engine\":{\"engineId\":62}}\n");
  EXPECT_THAT(file_of(made, "CMakeLists.txt"), HasSubstr("CUDNN_LIBRARY"));
  EXPECT_THAT(made.instructions, HasSubstr("CUDNN_LOGLEVEL_DBG=3"));
  EXPECT_THAT(source, Not(HasSubstr("harness/")));
}

TEST(CudaReproducer, a_product_is_written_with_its_algorithm) {
  abi::BlasCalls::Lt::Algorithm algorithm;
  algorithm.data = {0x42, 0, 0, 0, 0, 0, 0, 0x8000000000000001U};
  results::Measurement row = timed("impl=cublaslt;algo=66;tile=18");
  row.attributes[kAlgorithmAttribute] = algorithm_text(algorithm);
  const worker::Reproducer made =
      reproduce({{kProduct}, {row, timed("impl=cublaslt;algo=21")}, 1}, "x");
  const std::string source = file_of(made, "main.cpp");
  EXPECT_THAT(source, HasSubstr("0x42U"));
  EXPECT_THAT(source, HasSubstr("0x8000000000000001U}, 4096}"));
  EXPECT_THAT(source, HasSubstr("{}, 4096}")) << "without one the heuristic's first";
  EXPECT_THAT(source, HasSubstr("cublasComputeType_t>(77)")) << "TF32";
  EXPECT_THAT(file_of(made, "CMakeLists.txt"), HasSubstr("CUBLASLT_LIBRARY"));
  EXPECT_THAT(made.instructions, Not(HasSubstr("leaves them out")));
}

TEST(CudaReproducer, of_an_integer_product_is_what_the_library_multiplies) {
  const std::string key =
      "v1:conv_integer;in=u8[1,16,9,9],s8[24,16,3,3]c,-,-,-,f32[]c,f32[24]c;out=f32[1,24,9,9];"
      "acc=s32;math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]";
  const worker::Reproducer made = reproduce(
      {{key}, {timed("impl=cudnn;layout=NHWC;engine=28;operands=shifted;scales=apart")}, 1}, "x");
  const std::string source = file_of(made, "main.cpp");
  EXPECT_THAT(source, HasSubstr("Direction::forward, CUDNN_DATA_INT32, "));
  EXPECT_THAT(source, HasSubstr("{1, 16, 11, 11}")) << "with zeros around";
  EXPECT_THAT(made.instructions, HasSubstr("leaves them out"));
  const worker::Reproducer product = reproduce(
      {{"v1:matmul_integer;in=u8[6,32],s8[32,16]c,-,-,f32[]c,f32[16]c;out=f32[6,16];acc=s32;"
        "math=strict"},
       {timed("impl=cublaslt;algo=21;operands=made;operands=shifted;scales=apart")},
       1},
      "x");
  EXPECT_THAT(file_of(product, "main.cpp"), HasSubstr("cublasComputeType_t>(72)")) << "s32";
}

TEST(CudaReproducer, of_a_gradient_has_its_direction) {
  const worker::Reproducer made = reproduce(
      {{"v1:conv_backward_weights;in=f16[8,64,14,14],f16[8,32,14,14];out=f16[64,32,3,3],f16[64];"
        "acc=f32;math=strict;dilations=[1,1];group=1;outputs=wb;pads=[1,1,1,1];strides=[1,1]"},
       {timed("impl=cudnn;layout=NHWC;steps=apart;engine=3")},
       1},
      "x");
  EXPECT_THAT(file_of(made, "main.cpp"), HasSubstr("Direction::backward_weights, "));
  EXPECT_THAT(made.instructions, HasSubstr("leaves them out"));
}

TEST(CudaReproducer, says_what_it_leaves_out) {
  const worker::Reproducer made = reproduce({{std::string(kProduct) + ";epilogue=gelu_erf"},
                                             {timed("impl=cublaslt;algo=66;steps=apart;number=2")},
                                             1},
                                            "x");
  EXPECT_THAT(made.instructions, HasSubstr("leaves them out"));
  EXPECT_THAT(refusal_of({{kProduct}, {timed("impl=cublaslt;algo=66;steps=apart")}, 1}),
              HasSubstr("has a form"));
}

TEST(CudaReproducer, of_a_product_has_each_variants_form) {
  const worker::Reproducer made =
      reproduce({{"v1:gemm;in=f8e4m3[128,256],f8e5m2[256,64]c,bf16[64]c;out=bf16[128,64];acc=f32;"
                  "math=downconvert;alpha=1.0;beta=1.0;trans_a=0;trans_b=0;epilogue=gelu_tanh"},
                 {timed("impl=cublaslt;algo=66;accumulation=fast;operands=made"),
                  timed("impl=cublaslt;algo=66;operands=made;steps=apart")},
                 1},
                "x");
  const std::string source = file_of(made, "main.cpp");
  EXPECT_THAT(source,
              HasSubstr("cublasLtEpilogue_t>(36), 1, true, 64, {0, Number::boolean, 0}, 1, 0, "
                        "false,\n"
                        "          {CUDA_R_8F_E5M2, Number::f8e5m2, 256, 64, 256, 0},\n"
                        "          {CUDA_R_8F_E4M3, Number::f8e4m3, 256, 128, 256, 0},\n"))
      << "GELU with bias; columns of k";
  EXPECT_THAT(source, HasSubstr("cublasLtEpilogue_t>(1), 1, false, 0, ")) << "with C instead";
  EXPECT_THAT(source, HasSubstr("product_1, "));
}

TEST(CudaReproducer, of_a_product_of_training_has_what_was_saved) {
  const worker::Reproducer made = reproduce(
      {{"v1:gemm_bias_gradient;in=f32[20,24],f32[24,32],u8[20,16];out=f32[20,32],f32[32];acc=f32;"
        "math=strict;alpha=1.0;of=y;trans_a=0;trans_b=0;epilogue=bit_mask@2"},
       {timed("impl=cublaslt;algo=66")},
       1},
      "x");
  EXPECT_THAT(file_of(made, "main.cpp"),
              HasSubstr("cublasLtEpilogue_t>(152), 1, false, 32, {128, Number::boolean, 320}, "))
      << "16 bytes of bits for each of 20 columns";
}

TEST(CudaReproducer, of_a_recurrent_layer_has_its_algorithms) {
  const std::string key =
      "v1:lstm;in=f16[40,4,64],f16[1,512,64]c,f16[1,512,128]c,-,-,f16[1,4,128];out=f16[40,1,4,128],"
      "f16[1,4,128];acc=f32;math=strict;direction=forward;layout=0;outputs=yc";
  const worker::Reproducer made =
      reproduce({{key},
                 {timed("impl=cudnn-rnn;algo=STANDARD"),
                  timed("impl=cudnn-rnn;algo=PERSIST_DYNAMIC;operands=made")},
                 1},
                "x");
  const std::string source = file_of(made, "main.cpp");
  EXPECT_THAT(source, HasSubstr("static_cast<cudnnRNNMode_t>(2)"));
  EXPECT_THAT(source, HasSubstr("false, 40, 4, 64, 128, 1, false, true, false, true};"));
  EXPECT_THAT(source, HasSubstr("static_cast<cudnnRNNAlgo_t>(2)}"));
  EXPECT_THAT(file_of(made, "CMakeLists.txt"), HasSubstr("CUDNN_LIBRARY"));
  EXPECT_THAT(made.instructions, Not(HasSubstr("plan-N")));
  EXPECT_THAT(refusal_of({{key}, {timed("impl=cudnn-rnn;algo=FASTEST")}, 1}),
              HasSubstr("does not name an algorithm"));
}

TEST(CudaReproducer, of_a_normalisation_has_its_operation) {
  const worker::Reproducer made = reproduce(
      {{"v1:layer_norm;in=f16[64,128],f32[128],f32[128];out=f16[64,128];acc=f32;math=strict;axis=1;"
        "epsilon=1e-05"},
       {timed("impl=cudnn;graph=norm;engine=3")},
       1},
      "x");
  EXPECT_THAT(file_of(made, "main.cpp"), HasSubstr("builder.norm(0, 0, 1, 2, 3, 4);"));
  const worker::Reproducer gradient =
      reproduce({{"v1:batch_norm_backward;in=f16[2,4,6,6],f16[2,4,6,6],f32[4],f32[4],f32[4];"
                  "out=f16[2,4,6,6],f32[4],f32[4];acc=f32;math=strict;epsilon=1e-05"},
                 {timed("impl=cudnn;graph=norm_backward;layout=NHWC;operands=made;engine=5;#44=1")},
                 1},
                "x");
  EXPECT_THAT(file_of(gradient, "main.cpp"),
              HasSubstr("builder.norm_gradient({2, 0, 1, 2, 3, 4, 5, 6, 7});"));
  EXPECT_THAT(gradient.instructions, HasSubstr("leaves them out"));
}

TEST(CudaReproducer, rows_of_another_library_are_left_out) {
  const worker::Reproducer made = reproduce(
      {{kProduct}, {timed("impl=cublas;call=GemmEx"), timed("impl=cublaslt;algo=21")}, 1}, "x");
  EXPECT_THAT(file_of(made, "main.cpp"), Not(HasSubstr("GemmEx")));
  EXPECT_THAT(file_of(made, "main.cpp"), HasSubstr("impl=cublaslt;algo=21"));
}

TEST(CudaReproducer, refuses_what_it_cannot_write) {
  EXPECT_THAT(refusal_of({{kProduct}, {timed("impl=plumb:matmul;layout=NCHW")}, 1}),
              HasSubstr("'impl=plumb:matmul;layout=NCHW'"));
  EXPECT_THAT(refusal_of({{kProduct}, {}, 1}), HasSubstr("no reproducer"));
  results::Measurement failed = timed("impl=cublaslt;algo=21");
  failed.outcome = {results::Outcome::Kind::kCrashed, "x"};
  EXPECT_THAT(refusal_of({{kProduct}, {failed}, 1}), HasSubstr("with a time"));
  for (const char* const bad : {"impl=cudnn;layout=NHWC;engine=62;TILE=1;x y=2",
                                "impl=cudnn;layout=NHWC;engine=62;A\"B=2",
                                "impl=cudnn;layout=NHWC;engine=62;TILE_SIZE=5+system()",
                                "impl=cudnn;layout=NHWC;engine=",
                                "impl=cudnn;layout=odd;engine=1"}) {
    EXPECT_NE(refusal_of({{kConvolution}, {timed(bad)}, 1}), "") << bad;
  }
  results::Measurement forged = timed("impl=cublaslt;algo=21");
  forged.attributes[kAlgorithmAttribute] = "0x42}; system(\"x\"); {";
  EXPECT_THAT(refusal_of({{kProduct}, {forged}, 1}), HasSubstr("is not an algorithm"));
}

TEST(AlgorithmText, reads_back) {
  abi::BlasCalls::Lt::Algorithm algorithm;
  algorithm.data = {1, 2, 3, 4, 5, 6, 7, ~std::uint64_t{0}};
  EXPECT_EQ(parse_algorithm(algorithm_text(algorithm)).data, algorithm.data);
  EXPECT_THROW((void)parse_algorithm(std::string(127, '0')), Error);
  EXPECT_THROW((void)parse_algorithm(std::string(128, 'g')), Error);
}

}  // namespace
}  // namespace plumb::cuda
