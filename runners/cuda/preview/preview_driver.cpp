// SPDX-License-Identifier: Apache-2.0
// A driver without a device, for previews alone: libcuda.so.1 where the machine has none. cuDNN
// lists what it compiles itself only beside a driver, and loads what it compiled to finish a plan.
// So loading succeeds here, and everything else says that this is no driver. Nothing is executed.
#include "runners/cuda/driver/driver_abi.hpp"

#define PLUMB_EXPORT extern "C" __attribute__((visibility("default")))
/// Entry point that cuDNN looks for, and that only a device could serve.
#define PLUMB_REFUSED(name)                      \
  PLUMB_EXPORT int name() {                      \
    return plumb::cuda::abi::kDriverStubLibrary; \
  }

namespace {

constexpr int kVersion = 13'000;  // of CUDA: no cuDNN 9 asks for a later one

/// Returns an address that nobody reads: a handle.
void* handle() {
  static char place;
  return &place;
}

}  // namespace

/// By this name preview_driver_is_loaded() knows it.
PLUMB_EXPORT int plumb_preview_driver() {
  return 1;
}

PLUMB_EXPORT int cuDriverGetVersion(int* version) {
  *version = kVersion;
  return plumb::cuda::abi::kDriverSuccess;
}
PLUMB_EXPORT int cuLibraryLoadData(
    void** library, const void*, void*, void*, unsigned, void*, void*, unsigned) {
  *library = handle();
  return plumb::cuda::abi::kDriverSuccess;
}
PLUMB_EXPORT int cuLibraryGetKernel(void** kernel, void*, const char*) {
  *kernel = handle();
  return plumb::cuda::abi::kDriverSuccess;
}
PLUMB_EXPORT int cuKernelGetFunction(void** function, void*) {
  *function = handle();
  return plumb::cuda::abi::kDriverSuccess;
}
PLUMB_EXPORT int cuModuleLoadData(void** module, const void*) {
  *module = handle();
  return plumb::cuda::abi::kDriverSuccess;
}
PLUMB_EXPORT int cuModuleGetFunction(void** function, void*, const char*) {
  *function = handle();
  return plumb::cuda::abi::kDriverSuccess;
}
PLUMB_EXPORT int cuModuleUnload(void*) {
  return plumb::cuda::abi::kDriverSuccess;
}
PLUMB_EXPORT int cuLibraryUnload(void*) {
  return plumb::cuda::abi::kDriverSuccess;
}
PLUMB_EXPORT int cuGetErrorName(int, const char** name) {
  *name = "CUDA_ERROR_STUB_LIBRARY";
  return plumb::cuda::abi::kDriverSuccess;
}
PLUMB_EXPORT int cuGetErrorString(int, const char** words) {
  *words = "this driver is for previews: it has no device";
  return plumb::cuda::abi::kDriverSuccess;
}

PLUMB_REFUSED(cuCtxGetCurrent)
PLUMB_REFUSED(cuCtxGetLimit)
PLUMB_REFUSED(cuCtxPopCurrent)
PLUMB_REFUSED(cuCtxPushCurrent)
PLUMB_REFUSED(cuDeviceGet)
PLUMB_REFUSED(cuDeviceGetCount)
PLUMB_REFUSED(cuGetExportTable)
PLUMB_REFUSED(cuGetProcAddress_v2)
PLUMB_REFUSED(cuInit)
PLUMB_REFUSED(cuKernelGetAttribute)
PLUMB_REFUSED(cuKernelSetAttribute)
PLUMB_REFUSED(cuLaunchCooperativeKernel)
PLUMB_REFUSED(cuLaunchKernel)
PLUMB_REFUSED(cuLaunchKernelEx)
PLUMB_REFUSED(cuLibraryLoadFromFile)
PLUMB_REFUSED(cuLinkAddData)
PLUMB_REFUSED(cuLinkComplete)
PLUMB_REFUSED(cuLinkCreate)
PLUMB_REFUSED(cuLinkDestroy)
PLUMB_REFUSED(cuOccupancyMaxPotentialClusterSize)
PLUMB_REFUSED(cuStreamGetCtx)
PLUMB_REFUSED(cuTensorMapEncodeIm2col)
PLUMB_REFUSED(cuTensorMapEncodeTiled)
