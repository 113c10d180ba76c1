// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/blas/cublas_library.hpp"

#include <fmt/format.h>

#include <array>
#include <new>

namespace plumb::cuda {
namespace {

const std::array<std::string, 2> kNames{"libcublasLt.so.13", "libcublasLt.so.12"};

}  // namespace

CublasLibrary::CublasLibrary()
    : library_(kNames,
               "products need cuBLASLt: fetch the stack with it (plumb stacks fetch … "
               "nvidia-cublas==13.1.0.3), or add its folder to the stack's folders") {
  abi::for_each_lt_call(calls_,
                        [this](auto& call, const char* name) { library_.find(call, name); });
}

void CublasLibrary::check(int status, const char* what) const {
  if (status == abi::kLtAllocFailed) {
    throw std::bad_alloc();
  }
  if (status != abi::kLtSuccess) {
    const char* const name = calls_.status_name(status);
    throw CublasRefusal(fmt::format(
        "cuBLASLt: {}: {} ({})", what, name != nullptr ? name : "unknown status", status));
  }
}

}  // namespace plumb::cuda
