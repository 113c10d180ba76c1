// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cuda/host_kernels.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "harness/model/key/training_layers.hpp"
#include "runners/cuda/device_program.hpp"
#include "runners/engine/number_formats.hpp"

namespace plumb::cuda {
namespace {

/// Stands for what CUDA's language has and C++ has not.
constexpr const char* kPrelude = R"(
#include <barrier>
#include <cmath>
#include <thread>
#include <vector>
#define __device__
#define __global__
#define __shared__ static __attribute__((section("plumb_shared")))
using std::ceil; using std::cos; using std::erf; using std::exp; using std::expm1; using std::fabs;
using std::floor; using std::fmod; using std::log; using std::log1p; using std::pow; using std::rint;
using std::sin; using std::sqrt; using std::tanh;
struct Place { unsigned x = 0; };
static thread_local Place threadIdx, blockIdx;
static Place blockDim, gridDim;
static std::barrier<>* everybody = nullptr;
static void __syncthreads() { everybody->arrive_and_wait(); }
extern "C" float (*plumb_float_of_half)(unsigned short) = nullptr;
extern "C" unsigned short (*plumb_half_of_float)(float) = nullptr;
static float float_of_half(unsigned short bits) { return plumb_float_of_half(bits); }
static unsigned short half_of_float(float value) { return plumb_half_of_float(value); }
// A block finds what another block left in shared memory. Here that is no number.
extern "C" char __start_plumb_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_plumb_shared[] __attribute__((weak, visibility("hidden")));
static void poison() {
  for (char* at = __start_plumb_shared; at != __stop_plumb_shared; ++at) {
    *at = static_cast<char>(0xff);
  }
}
template <class Kernel>
static void launch(unsigned blocks, unsigned threads, unsigned first, unsigned end, bool in_rows, Kernel kernel) {
  blockDim.x = threads;
  gridDim.x = blocks;
  std::barrier<> barrier(threads);
  everybody = &barrier;
  const auto run = [&](unsigned thread) {
    threadIdx.x = thread;
    for (blockIdx.x = first; blockIdx.x < end; ++blockIdx.x) {
      if (in_rows) {
        if (thread == 0) {
          poison();
        }
        barrier.arrive_and_wait();
      }
      kernel();
      if (in_rows) {
        barrier.arrive_and_wait();
      }
    }
  };
  std::vector<std::thread> others;
  for (unsigned thread = 0; thread < threads; ++thread) {
    if (in_rows) {
      others.emplace_back(run, thread);
    } else {
      run(thread);
    }
  }
  for (std::thread& other : others) {
    other.join();
  }
}
)";

void* compiled(const std::string& source) {
  // The loader takes two files of one name for one library, whatever became of the first.
  static int number = 0;
  const std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                       fmt::format("plumb-kernels-{}-{}", getpid(), ++number);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "kernels.cpp") << source;
  const std::string command = fmt::format(
      "{} -std=c++20 -O0 -w -fno-gnu-unique {} -shared -fPIC -pthread -o {}/kernels.so "
      "{}/kernels.cpp "
      "2>{}/log",
      PLUMB_TEST_COMPILER,
      PLUMB_TEST_SANITIZER,
      folder.string(),
      folder.string(),
      folder.string());
  const int status = std::system(command.c_str());  // NOLINT: a fixed command on files of our own
  std::stringstream words;
  words << std::ifstream(folder / "log").rdbuf();
  void* const library = status == 0 ? dlopen((folder / "kernels.so").c_str(), RTLD_NOW) : nullptr;
  std::filesystem::remove_all(folder);
  if (library == nullptr) {
    throw std::runtime_error("the kernels do not compile here: " + words.str());
  }
  *static_cast<float (**)(std::uint16_t)>(dlsym(library, "plumb_float_of_half")) =
      engine::float_from_f16;
  *static_cast<std::uint16_t (**)(float)>(dlsym(library, "plumb_half_of_float")) = engine::f16_from;
  return library;
}

}  // namespace

HostKernels::~HostKernels() {
  if (library_ != nullptr) {
    dlclose(library_);
  }
}

void HostKernels::add(const KernelLaunch& launch) {
  const auto [at, added] = kernels_.try_emplace(launch.call + launch.shape_type);
  if (!added) {
    return;
  }
  at->second.first = kernels_.size();
  const std::string name = fmt::format("kernel_{}", at->second.first);
  at->second.second =
      entry_text(launch, name) +
      fmt::format(
          "extern \"C\" void run_{0}(const void* operands, const void* shape, unsigned blocks, "
          "unsigned threads, unsigned first, unsigned end) {{\n  launch(blocks, threads, first, "
          "end, "
          "{2}, [&] {{\n    {0}(*static_cast<const "
          "plumb::cuda::kernels::Addresses<{3}>*>(operands), *static_cast<const "
          "plumb::cuda::kernels::{1}*>(shape));\n  }});\n}}\n",
          name,
          launch.shape_type,
          launch.in_rows,
          launch.addresses);
}

KernelStep HostKernels::steps() {
  return [this](const KernelLaunch& launch, const std::vector<std::size_t>& buffers) {
    add(launch);
    DeviceStep step;
    step.buffers = buffers_of(launch, buffers);
    step.bind = [this, launch, buffers](std::span<const abi::DevicePointer> addresses,
                                        abi::DevicePointer) {
      std::vector<abi::DevicePointer> own;
      for (const std::size_t operand : launch.operands) {
        own.push_back(addresses[buffers.at(operand)]);
      }
      return DeviceLaunch([this, launch, own](abi::Stream) { run(launch, own); });
    };
    return step;
  };
}

void HostKernels::compile() {
  std::string source = std::string(kPrelude) + kernel_sources();
  for (const auto& [call, kernel] : kernels_) {
    source += kernel.second;
  }
  library_ = compiled(source);
}

void HostKernels::run(const KernelLaunch& launch,
                      std::span<const abi::DevicePointer> addresses) const {
  run_blocks(launch, addresses, 0, launch.blocks);
}

void HostKernels::run_blocks(const KernelLaunch& launch,
                             std::span<const abi::DevicePointer> addresses,
                             unsigned first,
                             unsigned end) const {
  std::vector<void*> operands(launch.addresses);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    operands.at(i) = reinterpret_cast<void*>(addresses[i]);
  }
  using Run = void (*)(const void*, const void*, unsigned, unsigned, unsigned, unsigned);
  const std::size_t number = kernels_.at(launch.call + launch.shape_type).first;
  const auto run =
      reinterpret_cast<Run>(dlsym(library_, fmt::format("run_kernel_{}", number).c_str()));
  if (run == nullptr) {
    throw std::runtime_error("a kernel was not compiled: " + launch.call);
  }
  run(operands.data(), launch.shape.data(), launch.blocks, launch.threads, first, end);
}

std::vector<std::vector<model::Tensor>> run_on_host(const std::vector<HostLayer>& layers) {
  HostKernels kernels;
  for (const HostLayer& layer : layers) {
    for (const KernelLaunch& launch : layer.layer.launches) {
      kernels.add(launch);
    }
  }
  kernels.compile();
  std::vector<std::vector<model::Tensor>> results;
  for (const HostLayer& layer : layers) {
    std::vector<std::vector<std::byte>> buffers;
    for (std::size_t i = 0; i < layer.operands.size(); ++i) {
      buffers.push_back(
          laid_out(layer.operands[i].type, layer.operands[i].data, layer.layer.inputs[i], false));
    }
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < layer.spec.outputs.size(); ++i) {
      if (model::is_update(layer.spec)) {
        places.push_back(model::UpdateShape(layer.spec).replaced(i));
        continue;
      }
      places.push_back(buffers.size());
      // Not zeros: what a kernel forgets must show.
      buffers.emplace_back(static_cast<std::size_t>(model::byte_size(layer.spec.outputs[i]).value),
                           std::byte{0x5a});
    }
    for (const model::TensorType& type : layer.layer.scratch) {
      buffers.emplace_back(static_cast<std::size_t>(model::byte_size(type).value), std::byte{0x7f});
    }
    for (const KernelLaunch& launch : layer.layer.launches) {
      std::vector<abi::DevicePointer> addresses;
      for (const std::size_t operand : launch.operands) {
        addresses.push_back(reinterpret_cast<abi::DevicePointer>(buffers.at(operand).data()));
      }
      const std::vector<std::vector<std::byte>> before = buffers;
      kernels.run(launch, addresses);
      const std::span<const std::size_t> operands(launch.operands);
      const auto written = operands.first(launch.outputs);
      for (const std::size_t read : operands.subspan(launch.outputs)) {
        if (std::find(written.begin(), written.end(), read) == written.end() &&
            buffers.at(read) != before.at(read)) {
          throw std::runtime_error("a kernel writes an operand that it should read: " +
                                   launch.call);
        }
      }
    }
    std::vector<model::Tensor>& outputs = results.emplace_back();
    for (std::size_t i = 0; i < layer.spec.outputs.size(); ++i) {
      const model::TensorType& type = layer.spec.outputs[i];
      outputs.push_back(
          {type, laid_out(type, buffers.at(places[i]), layer.layer.outputs[i], true)});
    }
  }
  return results;
}

}  // namespace plumb::cuda
