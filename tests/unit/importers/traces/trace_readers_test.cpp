// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <sstream>
#include <string>

#include "harness/base/error.hpp"
#include "harness/importers/traces/trace_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::importers {
namespace {

using results::ExecutedTrace;
using testing::ElementsAre;
using testing::HasSubstr;

ExecutedTrace read_log(const std::string& text) {
  std::istringstream in(text);
  return read_onednn_log(in);
}

ExecutedTrace read_events(const std::string& text) {
  std::istringstream in(text);
  return read_event_trace(in);
}

constexpr const char* kVersion0 =
    "onednn_verbose,info,oneDNN v2.6.3 (commit N/A)\n"
    "onednn_verbose,info,prim_template:operation,engine,primitive,implementation,prop_kind,"
    "memory_descriptors,attributes,auxiliary,problem_desc,exec_time\n"
    "onednn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:abcd:f0 "
    "dst_f32::blocked:Acdb16a:f0,,,64x3x7x7,0.25\n"
    "words of a program\n"
    "onednn_verbose,exec,cpu,convolution,jit:avx512_core,forward_inference,src_f32::blocked:acdb:"
    "f0 "
    "wei_f32::blocked:Acdb16a:f0 dst_f32::blocked:aBcd16b:f0,attr-post-ops:eltwise_relu,"
    "alg:convolution_direct,mb1_ic3oc64_ih224oh112kh7sh2dh0ph3_iw224ow112kw7sw2dw0pw3,1.5\n";

TEST(OnednnLog, reads_the_older_form) {
  const ExecutedTrace trace = read_log(kVersion0);
  ASSERT_EQ(trace.calls.size(), 2U);
  EXPECT_EQ(trace.call(0).kind, results::ExecutedTrace::Call::Kind::kReorder);
  EXPECT_EQ(trace.call(0).duration, Seconds(0.25e-3));
  const results::ExecutedTrace::Call conv = trace.call(1);
  EXPECT_EQ(conv.kind, results::ExecutedTrace::Call::Kind::kCompute);
  EXPECT_EQ(conv.operation, "convolution");
  EXPECT_EQ(conv.implementation, "jit:avx512_core");
  EXPECT_THAT(conv.types, ElementsAre("f32", "f32", "f32"));
  EXPECT_EQ(conv.layouts, "src:acdb wei:Acdb16a dst:aBcd16b");
  EXPECT_THAT(conv.problem, HasSubstr("oc64_ih224"));
  EXPECT_FALSE(trace.timed);
  EXPECT_FALSE(conv.layers);
}

TEST(OnednnLog, reads_version_1_with_time_stamps) {
  const ExecutedTrace trace = read_log(
      "onednn_verbose,v1,primitive,info,template:operation,engine,primitive,implementation,"
      "prop_kind,memory_descriptors,attributes,auxiliary,problem_desc,exec_time\n"
      "onednn_verbose,v1,1700000000500.5,primitive,create:cache_miss,cpu,matmul,brg_matmul:avx2,"
      "undef,src:f32:a:blocked:ab::f0 wei:bf16:a:blocked:BA16a64b::f0,,,1x512:512x1000,2\n"
      "onednn_verbose,v1,1700000001000,primitive,exec,cpu,matmul,brg_matmul:avx2,undef,"
      "src:f32:a:blocked:ab::f0 wei:bf16:a:blocked:BA16a64b::f0,,,1x512:512x1000,0.5\n"
      "onednn_verbose,v1,primitive,create:cache_hit,cpu,matmul,x,undef,,,,,0.01\n"
      "onednn_verbose,v1,graph,exec,cpu,100002,x,y,z,,,,,0.01\n");
  ASSERT_EQ(trace.calls.size(), 2U);
  EXPECT_EQ(trace.call(0).kind, results::ExecutedTrace::Call::Kind::kCreation);
  EXPECT_THAT(trace.call(1).types, ElementsAre("f32", "bf16"));
  EXPECT_EQ(trace.call(1).layouts, "src:ab wei:BA16a64b");
  EXPECT_TRUE(trace.timed);
  EXPECT_EQ(trace.call(1).start, Seconds(1.7e9 + 1.0));
}

TEST(OnednnLog, the_template_says_where_a_field_is) {
  const ExecutedTrace trace = read_log(
      "onednn_verbose,info,prim_template:operation,primitive,exec_time,implementation\n"
      "dnnl_verbose,exec,eltwise,7,jit\n");
  ASSERT_EQ(trace.calls.size(), 1U);
  EXPECT_EQ(trace.call(0).operation, "eltwise");
  EXPECT_EQ(trace.call(0).implementation, "jit");
  EXPECT_EQ(trace.call(0).duration, Seconds(7e-3));
}

TEST(OnednnLog, a_worker_says_which_layers_a_step_has) {
  const ExecutedTrace trace = read_log(
      "plumb_execution,begin,100\n"
      "plumb_step,0,100.5,3+4\n"
      "onednn_verbose,exec,cpu,eltwise,jit,undef,,,,1,0.5\n"
      "plumb_step_end,0.0006\n"
      "plumb_step,1,101,5\n"
      "plumb_step_end,0.002\n"
      "plumb_execution,end,102\n"
      "onednn_verbose,exec,cpu,eltwise,jit,undef,,,,1,0.5\n");
  ASSERT_EQ(trace.calls.size(), 3U);
  EXPECT_THAT(trace.call(0).layers.value(), ElementsAre(3, 4));
  EXPECT_EQ(trace.call(0).start, Seconds(100.5));
  EXPECT_EQ(trace.call(0).execution, 0U);
  EXPECT_EQ(trace.call(1).operation, "kernel");
  EXPECT_THAT(trace.call(1).layers.value(), ElementsAre(5));
  EXPECT_EQ(trace.call(1).duration, Seconds(0.002));
  EXPECT_FALSE(trace.call(2).execution);
  EXPECT_FALSE(trace.call(2).layers);
  ASSERT_EQ(trace.executions.size(), 1U);
  EXPECT_EQ(trace.executions[0].duration, Seconds(2.0));
}

TEST(OnednnLog, counts_broken_lines_and_bounds_long_ones) {
  const ExecutedTrace trace = read_log(
      "onednn_verbose,exec,cpu,eltwise,jit,undef,,,,1,nan\n"
      "onednn_verbose,exec,cpu,eltwise\n"
      "onednn_verbose,exec,cpu,eltwise,jit,undef,,,,1,-5\n"
      "plumb_step,1\nplumb_execution,begin,x\n" +
      std::string(std::size_t{1} << 20, 'x') + "\nonednn_verbose,exec,cpu,eltwise," +
      std::string(5000, 'y') + ",undef,,,,1,1\n");
  EXPECT_EQ(trace.left_out, 5U);
  ASSERT_EQ(trace.calls.size(), 1U);
  EXPECT_EQ(trace.call(0).implementation.size(), kMaxTraceText);
}

TEST(OnednnLog, calls_that_differ_in_times_alone_share_a_description) {
  std::string text;
  for (std::size_t i = 0; i < 2000; ++i) {
    text += fmt::format("onednn_verbose,exec,cpu,eltwise,jit,undef,,,,{},0.{}\n", i % 2, i);
  }
  const ExecutedTrace trace = read_log(text);
  ASSERT_EQ(trace.calls.size(), 2000U) << "lines that lie across blocks count as well";
  EXPECT_EQ(trace.descriptions.size(), 2U);
  EXPECT_EQ(trace.call(3).problem, "1");
  EXPECT_DOUBLE_EQ(trace.call(3).duration.count(), 0.3e-3);
}

TEST(OnednnLog, says_how_many_threads_and_processors_there_were) {
  EXPECT_EQ(read_log("onednn_verbose,v1,info,cpu,runtime:OpenMP,nthr:8\n").threads, 8U);
  const ExecutedTrace trace = read_log(
      "plumb_threads,4,2\nplumb_threads\nplumb_threads,x,-1\n"
      "plumb_threads,4,2\n");
  EXPECT_EQ(trace.threads, 4U);
  EXPECT_EQ(trace.processors, 2U);
}

constexpr const char* kProfile = R"([
{"cat":"Session","pid":1,"tid":1,"dur":900,"ts":1,"ph":"X","name":"session_initialization","args":{}},
{"cat":"Node","pid":1,"tid":1,"dur":30,"ts":1010,"ph":"X","name":"conv1_kernel_time","args":{"op_name":"Conv",
"input_type_shape":[{"float":[1,3,8,8]},{"float":[4,3,3,3]}],"output_type_shape":[{"float":[1,4,8,8]}],
"provider":"CPUExecutionProvider","node_index":"2"}},
{"cat":"Node","pid":1,"tid":1,"dur":5,"ts":1050,"ph":"X","name":"r_kernel_time","args":{"op_name":"ReorderOutput"}},
{"cat":"Node","pid":1,"tid":1,"dur":-5,"ts":1051,"ph":"X","name":"s_kernel_time","args":{}},
{"cat":"Session","pid":1,"tid":1,"dur":100,"ts":1000,"ph":"X","name":"model_run","args":{}}
])";

TEST(EventTrace, reads_a_profile_of_the_onnx_runtime) {
  const ExecutedTrace trace = read_events(kProfile);
  EXPECT_EQ(trace.format, "onnxruntime");
  ASSERT_EQ(trace.calls.size(), 2U);
  EXPECT_EQ(trace.left_out, 1U);
  EXPECT_EQ(trace.call(0).name, "conv1");
  EXPECT_EQ(trace.call(0).operation, "Conv");
  EXPECT_EQ(trace.call(0).implementation, "CPUExecutionProvider");
  EXPECT_THAT(trace.call(0).inputs, ElementsAre(ElementsAre(1, 3, 8, 8), ElementsAre(4, 3, 3, 3)));
  EXPECT_THAT(trace.call(0).types, ElementsAre("float", "float"));
  EXPECT_EQ(trace.call(0).execution, 0U);
  EXPECT_EQ(trace.call(1).kind, results::ExecutedTrace::Call::Kind::kReorder);
  ASSERT_EQ(trace.executions.size(), 1U);
  EXPECT_DOUBLE_EQ(trace.executions[0].duration.count(), 100e-6);
}

TEST(EventTrace, reads_the_threads_and_processors_of_calls) {
  const ExecutedTrace trace = read_events(
      R"([{"cat":"Node","pid":1,"tid":1,"dur":30,"ts":10,"ph":"X","name":"c_kernel_time","args":{
"op_name":"Conv","thread_scheduling_stats":{"main_thread":{"thread_pool_name":"session-0-intra-op",
"thread_id":"7","block_size":[1,2],"core":1,"Run":5,"Wait":6},
"sub_threads":{"8":{"num_run":3,"core":0},"9":{"num_run":1,"core":1}}}}}])");
  EXPECT_EQ(trace.threads, 3U);
  EXPECT_EQ(trace.processors, 2U);
}

constexpr const char* kKineto = R"({"schemaVersion":1,"deviceProperties":[],"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#2","pid":7,"tid":7,"ts":0,"dur":500},
{"ph":"X","cat":"cpu_op","name":"aten::conv2d","pid":7,"tid":7,"ts":100,"dur":50,
 "args":{"External id":1,"Input Dims":[[1,3,8,8],[4,3,3,3],[],[[2],[2]]],"Input type":["float","float","",""]}},
{"ph":"X","cat":"cpu_op","name":"aten::convolution","pid":7,"tid":7,"ts":101,"dur":48,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::clone","pid":7,"tid":7,"ts":110,"dur":10,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::copy_","pid":7,"tid":7,"ts":111,"dur":8,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::relu_","pid":7,"tid":7,"ts":160,"dur":4,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::relu_","pid":7,"tid":8,"ts":120,"dur":4,"args":{}}],
"traceName":"x.json"})";

TEST(EventTrace, reads_the_outermost_operators_of_kineto_and_copies_within) {
  const ExecutedTrace trace = read_events(kKineto);
  EXPECT_EQ(trace.format, "kineto");
  ASSERT_EQ(trace.calls.size(), 4U);
  EXPECT_EQ(trace.call(0).operation, "aten::conv2d");
  EXPECT_NEAR(trace.call(0).duration.count(), 40e-6, 1e-12);
  ASSERT_GE(trace.call(0).inputs.size(), 2U);
  EXPECT_THAT(trace.call(0).inputs[1], ElementsAre(4, 3, 3, 3));
  EXPECT_EQ(trace.call(1).operation, "aten::clone");
  EXPECT_EQ(trace.call(1).kind, results::ExecutedTrace::Call::Kind::kCopy);
  EXPECT_EQ(trace.call(1).name, "aten::conv2d");
  EXPECT_EQ(trace.call(3).operation, "aten::relu_");
}

// As torch.profiler writes them with activities of CUDA: each step stands there for the GPU, too.
TEST(EventTrace, what_a_gpu_executed_is_counted_and_is_no_call) {
  const ExecutedTrace trace =
      read_events(R"json({"deviceProperties":[{"id":0,"name":"NVIDIA H100"}],
"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":7,"tid":7,"ts":0,"dur":90,"args":{"External id":1}},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#2","pid":7,"tid":7,"ts":100,"dur":90,"args":{"External id":9}},
{"ph":"X","cat":"cpu_op","name":"aten::conv2d","pid":7,"tid":7,"ts":110,"dur":40,"args":{"External id":10}},
{"ph":"X","cat":"cpu_op","name":"aten::cudnn_convolution","pid":7,"tid":7,"ts":112,"dur":30,"args":{"External id":11}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":7,"tid":7,"ts":120,"dur":6,"args":{"correlation":5}},
{"ph":"s","id":5,"pid":7,"tid":7,"ts":120,"cat":"ac2g","name":"ac2g"},
{"ph":"X","cat":"kernel","name":"sm90_xmma_fprop_implicit_gemm","pid":0,"tid":7,"ts":130,"dur":300,"args":{
"External id":11,"device":0,"stream":7,"correlation":5,"grid":[1,2,3],"block":[128,1,1],"queued":0}},
{"ph":"f","id":5,"pid":0,"tid":7,"ts":130,"cat":"ac2g","name":"ac2g","bp":"e"},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":7,"ts":125,"dur":3,"args":{"bytes":64}},
{"ph":"X","cat":"gpu_memset","name":"Memset (Device)","pid":0,"tid":7,"ts":128,"dur":1,"args":{}},
{"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#1","pid":0,"tid":7,"ts":20,"dur":90,"args":{}},
{"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#2","pid":0,"tid":7,"ts":130,"dur":300,"args":{}},
{"ph":"M","name":"process_name","pid":0,"args":{"name":"python"}}]})json");
  EXPECT_EQ(trace.format, "kineto");
  ASSERT_EQ(trace.executions.size(), 2U);
  EXPECT_NEAR(trace.executions[1].duration.count(), 90e-6, 1e-12);
  ASSERT_EQ(trace.calls.size(), 1U);
  EXPECT_EQ(trace.call(0).operation, "aten::conv2d");
  EXPECT_EQ(trace.call(0).execution, 1U);
  EXPECT_EQ(trace.device_calls, 3U);
  EXPECT_EQ(trace.left_out, 0U);
}

TEST(EventTrace, calls_of_a_compiled_graph_are_not_one_call) {
  const ExecutedTrace trace = read_events(R"({"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"Torch-Compiled Region: 0/0","pid":7,"tid":7,"ts":9,"dur":90,"args":{}},
{"ph":"X","cat":"cpu_op","name":"## Call CompiledFxGraph fabc ##","pid":7,"tid":7,"ts":10,"dur":80,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::convolution","pid":7,"tid":7,"ts":20,"dur":30,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::_convolution","pid":7,"tid":7,"ts":21,"dur":28,"args":{}},
{"ph":"X","cat":"cpu_op","name":"graph_0_cpp_fused_relu_0","pid":7,"tid":7,"ts":60,"dur":4,"args":{}}]})");
  ASSERT_EQ(trace.calls.size(), 2U);
  EXPECT_EQ(trace.call(0).operation, "aten::convolution");
  EXPECT_EQ(trace.call(1).operation, "graph_0_cpp_fused_relu_0");
}

TEST(EventTrace, torch_compile_at_work_is_one_call) {
  for (const char* const name : {"_compile.compile_inner (dynamo_timed)", "entire_frame_compile"}) {
    const ExecutedTrace trace = read_events(fmt::format(
        R"json({{"traceEvents":[
{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":7,"tid":7,"ts":0,"dur":900}},
{{"ph":"X","cat":"user_annotation","name":"{}","pid":7,"tid":7,"ts":10,"dur":700}},
{{"ph":"X","cat":"user_annotation","name":"inductor (dynamo_timed)","pid":7,"tid":7,"ts":20,"dur":50}},
{{"ph":"X","cat":"cpu_op","name":"aten::relu","pid":7,"tid":7,"ts":30,"dur":9,"args":{{}}}},
{{"ph":"X","cat":"cpu_op","name":"aten::clone","pid":7,"tid":7,"ts":90,"dur":9,"args":{{}}}},
{{"ph":"X","cat":"cpu_op","name":"aten::relu","pid":7,"tid":7,"ts":800,"dur":9,"args":{{}}}}]}})json",
        name));
    ASSERT_EQ(trace.calls.size(), 2U) << name;
    EXPECT_EQ(trace.call(0).kind, results::ExecutedTrace::Call::Kind::kCreation);
    EXPECT_EQ(trace.call(0).operation, results::kModelCompilation);
    EXPECT_NEAR(trace.call(0).duration.count(), 700e-6, 1e-12);
    EXPECT_EQ(trace.call(0).execution, 0U);
    EXPECT_EQ(trace.call(1).operation, "aten::relu");
  }
}

TEST(EventTrace, a_range_says_which_layer_the_calls_in_its_thread_are_of) {
  const ExecutedTrace trace = read_events(R"({"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"aten::mul","pid":7,"tid":7,"ts":10,"dur":5,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::pow","pid":7,"tid":7,"ts":16,"dur":4,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::relu","pid":7,"tid":7,"ts":31,"dur":4,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::relu","pid":7,"tid":7,"ts":60,"dur":4,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::relu","pid":7,"tid":8,"ts":12,"dur":4,"args":{}},
{"ph":"X","cat":"user_annotation","name":"plumb_layer,relu1","pid":7,"tid":7,"ts":30,"dur":9},
{"ph":"X","cat":"user_annotation","name":"plumb_layer,lrn1","pid":7,"tid":7,"ts":9,"dur":20},
{"ph":"X","cat":"user_annotation","name":"a user's own","pid":7,"tid":7,"ts":50,"dur":30}]})");
  std::vector<std::string> outputs;
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    outputs.push_back(trace.call(i).operation + " " + trace.call(i).output);
  }
  EXPECT_THAT(
      outputs,
      ElementsAre(
          "aten::mul lrn1", "aten::relu ", "aten::pow lrn1", "aten::relu relu1", "aten::relu "));
}

TEST(EventTrace, refuses_what_is_none) {
  for (const std::string& text : {std::string("{}"),
                                  std::string("[{"),
                                  std::string("[1,2"),
                                  std::string("{\"a\":") + std::string(100, '[')}) {
    EXPECT_THROW(static_cast<void>(read_events(text)), Error) << text;
  }
  EXPECT_TRUE(read_events("[]").calls.empty());
}

constexpr const char* kCudnn =
    "I! CuDNN (v91900 56) function cudnnSetTensor4dDescriptor() called:\n"
    "i!     n: type=int; val=1;\n\n\n"
    "I! CuDNN (v91900 56) function cudnnConvolutionForward() called:\n"
    "i!     handle: type=cudnnHandle_t; val=NULL_PTR;\n"
    "i!     xDesc: type=cudnnTensorDescriptor_t:\n"
    "i!         dataType: type=cudnnDataType_t; val=CUDNN_DATA_FLOAT (0);\n"
    "i!         dimA: type=int; val=[1,3,224,224];\n"
    "i!         strideA: type=int; val=[150528,1,672,3];\n"
    "i!     wDesc: type=cudnnFilterDescriptor_t:\n"
    "i!         dataType: type=cudnnDataType_t; val=CUDNN_DATA_FLOAT (0);\n"
    "i!         dimA: type=int; val=[64,3,7,7];\n"
    "i!     algo: type=cudnnConvolutionFwdAlgo_t; val=CUDNN_CONVOLUTION_FWD_ALGO_GEMM (2);\n"
    "i! Time: 2026-11-20T23:21:32.559301 (0d+0h+0m+0s since start)\n\n\n"
    "I! CuDNN (v91900 56) function cudnnTransformTensor() called:\n";

ExecutedTrace read_cuda_log(const std::string& text) {
  std::istringstream in(text);
  return read_cuda_library_log(in);
}

TEST(CudaLibraryLog, reads_operations_of_cudnn) {
  const ExecutedTrace trace = read_cuda_log(kCudnn);
  EXPECT_EQ(trace.format, "cudnn");
  ASSERT_EQ(trace.calls.size(), 2U) << "a descriptor is no call";
  const results::ExecutedTrace::Call conv = trace.call(0);
  EXPECT_EQ(conv.operation, "convolution");
  EXPECT_EQ(conv.implementation, "cudnnConvolutionForward CUDNN_CONVOLUTION_FWD_ALGO_GEMM");
  EXPECT_THAT(conv.inputs, ElementsAre(ElementsAre(1, 3, 224, 224), ElementsAre(64, 3, 7, 7)));
  EXPECT_THAT(conv.types, ElementsAre("float", "float"));
  EXPECT_EQ(conv.layouts, "src:acdb");
  EXPECT_EQ(trace.call(1).kind, results::ExecutedTrace::Call::Kind::kReorder);
}

TEST(CudaLibraryLog, reads_products_of_both_interfaces_of_cublas) {
  const ExecutedTrace trace = read_cuda_log(
      "I! cuBLAS (v13.1.0) function cublasStatus_t cublasSgemm_v2(cublasHandle_t, int, float*, "
      "int) "
      "called:\n"
      "i!  m: type=int; val=1000\ni!  n: type=int; val=8\ni!  k: type=int; val=512\n"
      "[2025-11-03 19:02:38][cublasLt][557785][Trace][cublasLtMatmul] A=0X1 Adesc=[type=R_16BF "
      "rows=1024 cols=64 ld=1024] B=0X2 Bdesc=[type=R_16BF rows=1024 cols=8 ld=1024] C=0X0 "
      "Cdesc=[type=R_16BF rows=64 cols=8 ld=64] D=0X3 Ddesc=[type=R_16BF rows=64 cols=8 ld=64] "
      "computeDesc=[computeType=COMPUTE_32F scaleType=R_32F transa=OP_T epilogue=EPILOGUE_BIAS] "
      "algo=[algoId=66 tile=MATMUL_TILE_128x128]\n"
      "[2025-11-03 19:02:38][cublasLt][557785][Api][cublasLtMatmulDescCreate] matmulDesc=0X7\n");
  EXPECT_EQ(trace.format, "cublas");
  ASSERT_EQ(trace.calls.size(), 2U);
  EXPECT_EQ(trace.call(0).operation, "matmul");
  EXPECT_EQ(trace.call(0).implementation, "cublasSgemm_v2");
  EXPECT_EQ(trace.call(0).problem, "8x512:512x1000");
  EXPECT_EQ(trace.call(1).problem, "8x1024:1024x64");
  EXPECT_EQ(trace.call(1).implementation,
            "cublasLtMatmul algoId=66 tile=MATMUL_TILE_128x128 EPILOGUE_BIAS");
  EXPECT_THAT(trace.call(1).types, ElementsAre("bfloat16"));
}

TEST(CudaLibraryLog, what_is_broken_is_no_call) {
  for (const char* const text :
       {"", "I! \n", "i! x", "I! CuDNN function cudnnAddTensor", "[1][cublasLt]["}) {
    EXPECT_LE(read_cuda_log(text).calls.size(), 1U) << text;
  }
  std::string many = "I! CuDNN (v1) function cudnnConvolutionForward() called:\n";
  for (int i = 0; i < 1000; ++i) {
    many += fmt::format("i!     x{}: type=int; val=[1,{}];\n", i, std::string(1000, '9'));
  }
  EXPECT_EQ(read_cuda_log(many).calls.size(), 1U);
}

TEST(TraceFile, knows_a_format_by_its_content_also_when_compressed) {
  const TemporaryFolder folder;
  const std::filesystem::path plain = folder.path() / "a.log";
  std::ofstream(plain) << kVersion0;
  EXPECT_EQ(read_trace_file(plain).format, "onednn");
  const std::filesystem::path packed = folder.path() / "b.json.gz";
  const std::filesystem::path cudnn = folder.path() / "c.log";
  std::ofstream(cudnn) << "words before\n" << kCudnn;
  EXPECT_EQ(read_trace_file(cudnn).format, "cudnn");
  const std::filesystem::path cublas = folder.path() / "d.log";
  std::ofstream(cublas) << "[2025-11-03 19:02:38][cublasLt][1][Trace][cublasLtMatmul] A=0X1\n";
  EXPECT_EQ(read_trace_file(cublas).format, "cublas");
  gzFile file = gzopen(packed.c_str(), "wb");
  gzputs(file, kKineto);
  gzclose(file);
  EXPECT_EQ(read_trace_file(packed).calls.size(), 4U);
  std::filesystem::resize_file(packed, std::filesystem::file_size(packed) - 12);
  EXPECT_THROW(static_cast<void>(read_trace_file(packed)), Error);
}

TEST(TraceFile, names_a_file_that_is_no_trace) {
  const TemporaryFolder folder;
  const std::filesystem::path text = folder.path() / "words.txt";
  std::ofstream(text) << "nothing\n";
  for (const std::filesystem::path& file : {text, folder.path(), folder.path() / "absent"}) {
    try {
      static_cast<void>(read_trace_file(file));
      FAIL() << file;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kUser);
      EXPECT_THAT(error.what(), HasSubstr(file.string()));
    }
  }
}

}  // namespace
}  // namespace plumb::importers
