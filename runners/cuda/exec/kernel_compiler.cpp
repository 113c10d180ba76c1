// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/exec/kernel_compiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "runners/cuda/exec/index_space.hpp"

namespace plumb::cuda {

KernelCompiler::KernelCompiler(const std::vector<std::string>& names)
    : library_(
          names,
          "built-in kernels need NVRTC: add the package nvidia-cuda-nvrtc to the stack (plumb "
          "stacks fetch … nvidia-cuda-nvrtc==13.0.88), or the folder of libnvrtc to its folders") {
  library_.find(version_, "nvrtcVersion");
  library_.find(count_architectures_, "nvrtcGetNumSupportedArchs");
  library_.find(list_architectures_, "nvrtcGetSupportedArchs");
  library_.find(create_, "nvrtcCreateProgram");
  library_.find(destroy_, "nvrtcDestroyProgram");
  library_.find(compile_, "nvrtcCompileProgram");
  library_.find(log_size_, "nvrtcGetProgramLogSize");
  library_.find(log_, "nvrtcGetProgramLog");
  library_.find(cubin_size_, "nvrtcGetCUBINSize");
  library_.find(cubin_, "nvrtcGetCUBIN");
  library_.find(ptx_size_, "nvrtcGetPTXSize");
  library_.find(ptx_, "nvrtcGetPTX");
  library_.find(error_text_, "nvrtcGetErrorString");
}

std::vector<std::string> KernelCompiler::default_names() {
  return {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
}

void KernelCompiler::check(int status, const char* what) const {
  if (status != 0) {
    throw Unsupported(fmt::format("NVRTC: {}: {} ({})", what, error_text_(status), status));
  }
}

std::string KernelCompiler::version() const {
  int major = 0;
  int minor = 0;
  check(version_(&major, &minor), "its version");
  return fmt::format("{}.{}", major, minor);
}

std::string KernelCompiler::compile(const std::string& source, int architecture) const {
  int count = 0;
  check(count_architectures_(&count), "its architectures");
  std::vector<int> known(static_cast<std::size_t>(std::max(count, 0)));
  if (!known.empty()) {
    check(list_architectures_(known.data()), "its architectures");
  }
  const bool native = std::find(known.begin(), known.end(), architecture) != known.end();
  int newest = 0;
  for (const int one : known) {
    newest = one <= architecture ? std::max(newest, one) : newest;
  }
  if (!native && newest == 0) {
    throw Unsupported(fmt::format("NVRTC {} does not compile for sm_{}", version(), architecture));
  }
  const std::string target = native ? fmt::format("--gpu-architecture=sm_{}", architecture)
                                    : fmt::format("--gpu-architecture=compute_{}", newest);
  // -fmad stays on: a multiply-add that is rounded once is no less exact.
  const std::array<const char*, 2> options{target.c_str(), "--std=c++17"};

  Program handle = nullptr;
  check(create_(&handle, source.c_str(), "plumb_kernels.cu", 0, nullptr, nullptr), "a program");
  const auto destroy = [this](Program program) { static_cast<void>(destroy_(&program)); };
  const std::unique_ptr<void, decltype(destroy)> program(handle, destroy);
  const int status = compile_(handle, static_cast<int>(options.size()), options.data());
  if (status != 0) {
    std::size_t size = 0;
    std::string words;
    if (log_size_(handle, &size) == 0) {
      words.resize(size);
      static_cast<void>(log_(handle, words.data()));
    }
    throw Unsupported(fmt::format("NVRTC {}: {}: {}", version(), error_text_(status), words));
  }
  std::size_t size = 0;
  check((native ? cubin_size_ : ptx_size_)(handle, &size), "the size of the compiled kernels");
  std::string image(size, '\0');
  check((native ? cubin_ : ptx_)(handle, image.data()), "the compiled kernels");
  return image;
}

}  // namespace plumb::cuda
