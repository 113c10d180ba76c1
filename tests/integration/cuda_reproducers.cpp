// SPDX-License-Identifier: Apache-2.0
// Writes reproducers of CUDA rows as a worker would, for engines that a real cuDNN offers for a
// described GPU and for a product. Needs no GPU.
//
// usage: plumb_cuda_reproducers FOLDER CUDNN GPU_JSON
// Each becomes FOLDER/NAME; the GPU's properties, as cuDNN takes them, FOLDER/gpu.json. Ends with
// 77 where there is no cuDNN.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/base/error.hpp"
#include "harness/results/engine_promise.hpp"
#include "runners/cuda/attention_offers.hpp"
#include "runners/cuda/convolution_offers.hpp"
#include "runners/cuda/engine_attributes.hpp"
#include "runners/cuda/engine_search.hpp"
#include "runners/cuda/reproducer/reproduce.hpp"
#include "tests/unit/cuda/vendor_memory.hpp"

namespace plumb::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRows = 6;

Measurement row_of(const std::string& variant) {
  Measurement row;
  row.variant = variant;
  row.samples = {Seconds(1e-5), Seconds(1.1e-5), Seconds(1.2e-5)};
  row.summary = summarize(row.samples);
  return row;
}

void write(const fs::path& folder, const ReproducerRequest& request) {
  fs::create_directories(folder);
  for (const Reproducer::File& file : reproduce(request, "a \"described\" GPU").files) {
    std::ofstream(folder / file.name) << file.text;
  }
}

/// Takes the first engines of each form that keep the key's promise and have a plan.
void write_engines(const fs::path& folder,
                   const char* key,
                   bool apart,
                   const CudnnLibrary& library,
                   const Descriptor& properties) {
  const LayerSpec spec = parse_key({key});
  const EngineTarget target{&properties, nullptr};
  ReproducerRequest request{{key}, {}, 7};
  for (const GraphForm& form : convolution_forms(spec, apart)) {
    const OperationGraph graph = operation_graph(library, form.graph);
    std::size_t rows = 0;
    for (const FoundEngine& engine : find_engines(library, graph, target)) {
      if (rows == kRows || !keeps_promise(spec, engine.facts)) {
        continue;
      }
      try {
        Measurement row =
            row_of(fmt::format("impl=cudnn;{};{}", form.text, engine_text(engine.facts)));
        add_plan(row.attributes, execution_plan(library, engine.configuration, target));
        request.rows.push_back(row);
        rows += 1;
      } catch (const CudnnRefusal&) {
        continue;  // offered, but without a plan
      }
    }
  }
  write(folder, request);
}

int run(const fs::path& folder, const std::string& cudnn, const std::string& gpu) {
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
  Descriptor properties(*library, abi::DescriptorType::kDeviceProperties);
  properties.set_text(abi::Attribute::kDeviceJson, json);
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
  Measurement algorithm = row_of("impl=cublaslt;algo=66;tile=18");
  algorithm.attributes["algorithm"] = std::string(128, '0');
  write(folder / "product",
        {{"v1:gemm;in=f16[64,256],f16[256,128]c,f16[128]c;out=f16[64,128];acc=f32;math=strict;"
          "alpha=1.0;beta=1.0;trans_a=0;trans_b=0;epilogue=relu"},
         {algorithm, row_of("impl=cublaslt;algo=21")},
         7});
  return 0;
}

}  // namespace
}  // namespace plumb::cuda

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: plumb_cuda_reproducers FOLDER CUDNN GPU_JSON\n");
    return 2;
  }
  [[maybe_unused]] const plumb::cuda::VendorMemory vendors{};
  try {
    return plumb::cuda::run(argv[1], argv[2], argv[3]);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return 70;
  }
}
