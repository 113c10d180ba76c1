// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/blas/cublas_library.hpp"

#include <fmt/format.h>

#include <array>
#include <new>
#include <string>

#include "harness/base/error.hpp"
#include "runners/cuda/driver/dynamic_library.hpp"

namespace plumb::cuda {
namespace {

const std::array<std::string, 2> kNames{"libcublasLt.so.13", "libcublasLt.so.12"};
const std::array<std::string, 2> kOlderNames{"libcublas.so.13", "libcublas.so.12"};
constexpr const char* kWhatToDo =
    "products need cuBLASLt: fetch the stack with it (plumb stacks fetch … "
    "nvidia-cublas==13.1.0.3), or add its folder to the stack's folders";

std::optional<abi::BlasCalls> find_older_calls() {
  try {
    const DynamicLibrary library(kOlderNames, kWhatToDo);
    abi::BlasCalls calls;
    abi::for_each_blas_call(calls, [&](auto& call, const char* name) { library.find(call, name); });
    return calls;
  } catch (const Error&) {
    return std::nullopt;  // cuBLASLt does not need them
  }
}

}  // namespace

CublasLibrary::CublasLibrary() {
  const DynamicLibrary library(kNames, kWhatToDo);
  abi::for_each_lt_call(calls_, [&](auto& call, const char* name) { library.find(call, name); });
  older_calls_ = find_older_calls();
}

void CublasLibrary::check(int status, const char* what) const {
  if (status == abi::kLtAllocFailed) {
    throw std::bad_alloc();
  }
  if (status != abi::kLtSuccess) {
    const char* const name = calls_.status_name(status);
    throw CublasRefusal(fmt::format(
        "cuBLAS: {}: {} ({})", what, name != nullptr ? name : "unknown status", status));
  }
}

CublasHandle::CublasHandle(const CublasLibrary& library)
    : library_(library),
      handle_(make_owned(library, library.calls().create, library.calls().destroy, "a handle")) {
  const abi::BlasCalls* const calls = library.older_calls();
  if (calls == nullptr) {
    return;
  }
  try {
    older_ = make_owned(library, calls->create, calls->destroy, "a handle of the older calls");
  } catch (const CublasRefusal&) {
    return;  // cuBLASLt does not need it
  }
}

abi::BlasHandle CublasHandle::in(abi::Stream stream, void* workspace, std::size_t bytes) const {
  const abi::BlasCalls& calls = *library_.older_calls();
  const abi::BlasHandle handle = older_.value().get();
  library_.check(calls.set_stream(handle, stream), "a handle's stream");
  library_.check(calls.set_workspace(handle, workspace, bytes), "a handle's workspace");
  return handle;
}

}  // namespace plumb::cuda
