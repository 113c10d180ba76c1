// SPDX-License-Identifier: Apache-2.0
// Writes reproducers of CUDA rows as a worker would, for engines that a real cuDNN offers for a
// described GPU and for a product. Needs no GPU.
//
// usage: plumb_cuda_reproducers FOLDER CUDNN GPU_JSON DRIVER
// Each becomes FOLDER/NAME; the GPU's properties, as cuDNN takes them, FOLDER/gpu.json. Of
// engines that cuDNN compiles there are some where DRIVER, the toolkit's empty one, is. Ends with
// 77 where there is no cuDNN.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/base/error.hpp"
#include "harness/model/key/operator_families.hpp"
#include "harness/results/engine_choice.hpp"
#include "runners/cuda/blas/cublas.hpp"
#include "runners/cuda/dnn/engine_search.hpp"
#include "runners/cuda/dnn/graph_variants.hpp"
#include "runners/cuda/reproducer/reproducer_source.hpp"
#include "tests/unit/cuda/vendor_memory.hpp"

namespace plumb::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRows = 6;

results::Measurement row_of(const std::string& variant) {
  results::Measurement row;
  row.variant = variant;
  row.samples = {Seconds(1e-5), Seconds(1.1e-5), Seconds(1.2e-5)};
  row.summary = measure::summarize(row.samples);
  return row;
}

void write(const fs::path& folder, const worker::Reproducer::Request& request) {
  fs::create_directories(folder);
  for (const worker::Reproducer::File& file : reproduce(request, "a \"described\" GPU").files) {
    std::ofstream(folder / file.name) << file.text;
  }
}

/// Takes the first engines of each form that keep the key's promise and have a plan, or, of those
/// that cuDNN compiles, could have one beside a driver.
void write_engines(const fs::path& folder,
                   const char* key,
                   bool apart,
                   const CudnnLibrary& library,
                   const Descriptor& properties) {
  const model::LayerSpec spec = model::parse_key({key});
  const bool attention = spec.op == "attention_backward";
  const bool compiled =
      attention || model::is_normalization(spec);  // by cuDNN: all engines of these
  const EngineTarget target{&properties, nullptr};
  worker::Reproducer::Request request{{key}, {}, 7};
  for (const GraphForm& form : attention  ? std::vector{attention_gradient_form(spec)}
                               : compiled ? norm_forms(spec)
                                          : convolution_forms(spec, apart)) {
    const OperationGraph graph = operation_graph(library, form.graph);
    std::size_t rows = 0;
    for (const EngineTarget::Engine& engine : find_engines(library, graph, target)) {
      if (rows == kRows || !results::keeps_promise(spec, engine.facts)) {
        continue;
      }
      try {
        results::Measurement row =
            row_of(fmt::format("impl=cudnn;{};{}", form.text, engine_text(engine.facts)));
        if (!compiled) {
          add_plan(row.attributes, execution_plan(library, engine.configuration, target));
        }
        request.rows.push_back(row);
        rows += 1;
      } catch (const CudnnLibrary::Refusal&) {
        continue;  // offered, but without a plan
      }
    }
  }
  write(folder, request);
}

/// Writes the program of every form of a product.
void write_product(const fs::path& folder, const char* key) {
  worker::Reproducer::Request request{{key}, {}, 7};
  for (const GemmProblem& form : gemm_forms(model::parse_key({key}))) {
    request.rows.push_back(row_of("impl=cublaslt;algo=66;tile=18" + form_text(form)));
  }
  write(folder, request);
}

int run(const fs::path& folder,
        const std::string& cudnn,
        const std::string& gpu,
        const std::string& driver) {
  const std::vector<fs::path> libraries{cudnn};
  std::optional<CudnnLibrary> library;
  try {
    library.emplace(libraries);
  } catch (const Error& missing) {
    fmt::print(stderr, "{}\n", missing.what());
    return 77;
  }
  std::stringstream text;
  text << std::ifstream(gpu).rdbuf();
  const std::string json = nlohmann::json::parse(text.str()).at("properties").dump();
  Descriptor properties(*library, abi::CudnnCalls::DescriptorType::kDeviceProperties);
  properties.set_text(abi::CudnnCalls::Attribute::kDeviceJson, json);
  properties.finish("a device");
  fs::create_directories(folder);
  std::ofstream(folder / "gpu.json") << json;

  write_engines(folder / "convolution",
                "v1:conv;in=f16[8,256,14,14],f16[256,256,3,3]c,f16[256]c,f16[8,256,14,14];"
                "out=f16[8,256,14,14];acc=f32;math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];"
                "strides=[1,1];epilogue=add@3,relu",
                false,
                *library,
                properties);
  write_engines(folder / "transposed",
                "v1:conv_transpose;in=f32[1,8,5,5],f32[8,4,3,3]c;out=f32[1,4,10,10];acc=f32;"
                "math=strict;dilations=[1,1];group=1;output_padding=[1,1];pads=[1,1,1,1];"
                "strides=[2,2]",
                true,
                *library,
                properties);
  write_engines(folder / "integers",
                "v1:conv_integer;in=s8[8,64,14,14],s8[64,64,3,3]c;out=s32[8,64,14,14];acc=s32;"
                "math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]",
                false,
                *library,
                properties);
  write_engines(folder / "data_gradient",
                "v1:conv_backward_data;in=f16[8,256,14,14],f16[256,128,3,3];out=f16[8,128,28,28];"
                "acc=f32;math=strict;dilations=[1,1];group=1;pads=[1,1,1,1];strides=[2,2]",
                false,
                *library,
                properties);
  write_engines(folder / "weights_gradient",
                "v1:conv_backward_weights;in=f16[8,256,14,14],f16[8,128,28,28];"
                "out=f16[256,128,3,3],f16[256];acc=f32;math=strict;dilations=[1,1];group=1;"
                "outputs=wb;pads=[1,1,1,1];strides=[2,2]",
                true,
                *library,
                properties);
  write(folder / "attention",
        {{"v1:attention;in=f16[1,16,2048,128],f16[1,4,2048,128],f16[1,4,2048,128];"
          "out=f16[1,16,2048,128];acc=f32;math=strict;causal=1;kv_heads=4;outputs=y;q_heads=16;"
          "scale=0.088;softcap=0.0"},
         {row_of("impl=cudnn;graph=sdpa;engine=5")},
         7});
  write(folder / "recurrent",
        {{"v1:lstm;in=f16[40,4,64],f16[2,512,64]c,f16[2,512,128]c,f16[2,1024]c;out=f16[40,2,4,128],"
          "f16[2,4,128],f16[2,4,128];acc=f32;math=strict;direction=bidirectional;layout=0;"
          "outputs=yhc"},
         {row_of("impl=cudnn-rnn;algo=STANDARD"), row_of("impl=cudnn-rnn;algo=PERSIST_DYNAMIC")},
         7});
  write_product(folder / "float8",
                "v1:gemm;in=f8e4m3[128,256],f8e5m2[256,64]c,bf16[64]c;out=bf16[128,64];acc=f32;"
                "math=downconvert;alpha=1.0;beta=1.0;trans_a=0;trans_b=0;epilogue=gelu_tanh");
  write_product(folder / "bits",
                "v1:gemm_bias_gradient;in=f32[20,24],f32[24,32],u8[20,16];out=f32[20,32],f32[32];"
                "acc=f32;math=strict;alpha=1.0;of=y;trans_a=0;trans_b=0;epilogue=bit_mask@2");
  write_product(folder / "activation_gradient",
                "v1:gemm;in=f16[64,256],f16[256,128],-,f16[64,128];out=f16[64,128];acc=f32;"
                "math=strict;alpha=1.0;beta=1.0;trans_a=0;trans_b=0;"
                "epilogue=gelu_tanh_backward@3");
  write_product(folder / "bias_gradient",
                "v1:gemm_bias_gradient;in=f16[64,128],f16[64,256];out=f16[128,256],f16[256];"
                "acc=f32;math=strict;alpha=1.0;of=b;trans_a=1;trans_b=0");
  results::Measurement algorithm = row_of("impl=cublaslt;algo=66;tile=18");
  algorithm.attributes["algorithm"] = std::string(128, '0');
  write(folder / "product",
        {{"v1:gemm;in=f16[64,256],f16[256,128]c,f16[128]c;out=f16[64,128];acc=f32;math=strict;"
          "alpha=1.0;beta=1.0;trans_a=0;trans_b=0;epilogue=relu"},
         {algorithm, row_of("impl=cublaslt;algo=21")},
         7});
  // Without a driver cuDNN lists no engine that it compiles itself; an empty one stays in the
  // process.
  if (dlopen(driver.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return 0;
  }
  write_engines(folder / "norm",
                "v1:layer_norm;in=f16[4096,1024],f32[1024],f32[1024];out=f16[4096,1024];acc=f32;"
                "math=strict;axis=1;epsilon=1e-05",
                false,
                *library,
                properties);
  write_engines(folder / "norm_gradient",
                "v1:batch_norm_backward;in=f16[16,64,28,28],f16[16,64,28,28],f32[64],f32[64],"
                "f32[64];out=f16[16,64,28,28],f32[64],f32[64];acc=f32;math=strict;epsilon=1e-05",
                false,
                *library,
                properties);
  write_engines(folder / "attention_gradient",
                "v1:attention_backward;in=f16[2,16,512,64],f16[2,16,512,64],f16[2,4,512,64],"
                "f16[2,4,512,64],f16[2,16,512,64],f32[2,16,512,1];out=f16[2,16,512,64],"
                "f16[2,4,512,64],f16[2,4,512,64];acc=f32;math=strict;causal=1;kv_heads=4;"
                "q_heads=16;scale=0.125",
                false,
                *library,
                properties);
  return 0;
}

}  // namespace
}  // namespace plumb::cuda

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "usage: plumb_cuda_reproducers FOLDER CUDNN GPU_JSON DRIVER\n");
    return 2;
  }
  [[maybe_unused]] const plumb::cuda::VendorMemory vendors{};
  try {
    return plumb::cuda::run(argv[1], argv[2], argv[3], argv[4]);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return 70;
  }
}
