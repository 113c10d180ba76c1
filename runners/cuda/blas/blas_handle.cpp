// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/blas/blas_handle.hpp"

#include <fmt/format.h>

#include <array>
#include <new>
#include <string>

#include "runners/cuda/blas/cublas_library.hpp"

namespace plumb::cuda {
namespace {

const std::array<std::string, 2> kNames{"libcublas.so.13", "libcublas.so.12"};

}  // namespace

BlasLibrary::BlasLibrary()
    : library_(kNames,
               "cuBLAS' older calls need libcublas: fetch the stack with it (plumb stacks fetch … "
               "nvidia-cublas==13.1.0.3), or add its folder to the stack's folders") {
  abi::for_each_blas_call(calls_,
                          [this](auto& call, const char* name) { library_.find(call, name); });
}

void BlasLibrary::check(int status, const char* what) const {
  if (status == abi::kLtAllocFailed) {
    throw std::bad_alloc();
  }
  if (status != abi::kLtSuccess) {
    const char* const name = calls_.status_name(status);
    throw CublasRefusal(fmt::format(
        "cuBLAS: {}: {} ({})", what, name != nullptr ? name : "unknown status", status));
  }
}

BlasHandle::BlasHandle(const BlasLibrary& library) : library_(library) {
  library.check(library.calls().create(&handle_), "a handle");
}

BlasHandle::~BlasHandle() {
  if (handle_ != nullptr) {
    static_cast<void>(library_.calls().destroy(handle_));
  }
}

abi::BlasHandle BlasHandle::in(abi::Stream stream, void* workspace, std::size_t bytes) const {
  library_.check(library_.calls().set_stream(handle_, stream), "a handle's stream");
  library_.check(library_.calls().set_workspace(handle_, workspace, bytes), "a handle's workspace");
  return handle_;
}

}  // namespace plumb::cuda
