// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

// What this worker uses of ONNX Runtime's C API. The library hands out one table of functions.
// Later versions only append to it, so a function's position never changes.

struct OrtAllocator;
struct OrtCUDAProviderOptionsV2;
struct OrtEnv;
struct OrtIoBinding;
struct OrtRunOptions;
struct OrtSession;
struct OrtSessionOptions;
struct OrtStatus;
struct OrtTensorRTProviderOptionsV2;
struct OrtThreadingOptions;
struct OrtValue;

namespace plumb::onnxruntime {

/// The version of the table that has all functions below: that of ONNX Runtime 1.15.
inline constexpr std::uint32_t kApiVersion = 15;

/// What OrtGetApiBase() returns.
struct ApiBase {
  const void* (*get_api)(std::uint32_t version);
  const char* (*version)();
};

/// Function of the table by its position.
template <std::size_t position, typename Signature>
struct Entry {
  static constexpr std::size_t kPosition = position;
  using Function = Signature*;
};

namespace api {

inline constexpr int kLogWarnings = 2;  // errors are above
inline constexpr int kParallelExecution = 1;

/// What takes messages: its own parameter, severity, category, log id, place in the code, message.
using LoggingFunction = void(void*, int, const char*, const char*, const char*, const char*);

using GetErrorMessage = Entry<2, const char*(const OrtStatus*)>;
using CreateSessionFromArray =
    Entry<8,
          OrtStatus*(
              const OrtEnv*, const void*, std::size_t, const OrtSessionOptions*, OrtSession**)>;
using CreateSessionOptions = Entry<10, OrtStatus*(OrtSessionOptions**)>;
using SetSessionExecutionMode = Entry<13, OrtStatus*(OrtSessionOptions*, int)>;
using EnableProfiling = Entry<14, OrtStatus*(OrtSessionOptions*, const char*)>;
using SetSessionLogId = Entry<20, OrtStatus*(OrtSessionOptions*, const char*)>;
using SetSessionGraphOptimizationLevel = Entry<23, OrtStatus*(OrtSessionOptions*, int)>;
using SetIntraOpNumThreads = Entry<24, OrtStatus*(OrtSessionOptions*, int)>;
using SetInterOpNumThreads = Entry<25, OrtStatus*(OrtSessionOptions*, int)>;
using CreateTensorAsOrtValue =
    Entry<48, OrtStatus*(OrtAllocator*, const std::int64_t*, std::size_t, int, OrtValue**)>;
using GetTensorMutableData = Entry<51, OrtStatus*(OrtValue*, void**)>;
using AllocatorFree = Entry<76, OrtStatus*(OrtAllocator*, void*)>;
using GetAllocatorWithDefaultOptions = Entry<78, OrtStatus*(OrtAllocator**)>;
using ReleaseEnv = Entry<92, void(OrtEnv*)>;
using ReleaseStatus = Entry<93, void(OrtStatus*)>;
using ReleaseSession = Entry<95, void(OrtSession*)>;
using ReleaseValue = Entry<96, void(OrtValue*)>;
using ReleaseSessionOptions = Entry<100, void(OrtSessionOptions*)>;
using SessionEndProfiling = Entry<110, OrtStatus*(OrtSession*, OrtAllocator*, char**)>;
using DisablePerSessionThreads = Entry<120, OrtStatus*(OrtSessionOptions*)>;
using CreateThreadingOptions = Entry<121, OrtStatus*(OrtThreadingOptions**)>;
using ReleaseThreadingOptions = Entry<122, void(OrtThreadingOptions*)>;
using GetAvailableProviders = Entry<125, OrtStatus*(char***, int*)>;
using ReleaseAvailableProviders = Entry<126, OrtStatus*(char**, int)>;
using RunWithBinding =
    Entry<133, OrtStatus*(OrtSession*, const OrtRunOptions*, const OrtIoBinding*)>;
using CreateIoBinding = Entry<134, OrtStatus*(OrtSession*, OrtIoBinding**)>;
using ReleaseIoBinding = Entry<135, void(OrtIoBinding*)>;
using BindInput = Entry<136, OrtStatus*(OrtIoBinding*, const char*, const OrtValue*)>;
using BindOutput = Entry<137, OrtStatus*(OrtIoBinding*, const char*, const OrtValue*)>;
using SetGlobalIntraOpNumThreads = Entry<147, OrtStatus*(OrtThreadingOptions*, int)>;
using SetGlobalInterOpNumThreads = Entry<148, OrtStatus*(OrtThreadingOptions*, int)>;
using CreateEnvWithCustomLoggerAndGlobalThreadPools =
    Entry<151,
          OrtStatus*(
              LoggingFunction*, void*, int, const char*, const OrtThreadingOptions*, OrtEnv**)>;
// The providers of NVIDIA are not among those that are appended by name.
using AppendTensorRtProvider =
    Entry<170, OrtStatus*(OrtSessionOptions*, const OrtTensorRTProviderOptionsV2*)>;
using CreateTensorRtProviderOptions = Entry<171, OrtStatus*(OrtTensorRTProviderOptionsV2**)>;
using ReleaseTensorRtProviderOptions = Entry<174, void(OrtTensorRTProviderOptionsV2*)>;
using AppendCudaProvider =
    Entry<204, OrtStatus*(OrtSessionOptions*, const OrtCUDAProviderOptionsV2*)>;
using CreateCudaProviderOptions = Entry<205, OrtStatus*(OrtCUDAProviderOptionsV2**)>;
using ReleaseCudaProviderOptions = Entry<208, void(OrtCUDAProviderOptionsV2*)>;
using SessionOptionsAppendExecutionProvider = Entry<
    216,
    OrtStatus*(
        OrtSessionOptions*, const char*, const char* const*, const char* const*, std::size_t)>;

}  // namespace api

/// Deleter of a handle by the function that releases its type.
template <typename Handle>
struct Release {
  void (*function)(Handle*) = nullptr;
  void operator()(Handle* handle) const { function(handle); }
};
template <typename Handle>
using Owned = std::unique_ptr<Handle, Release<Handle>>;

}  // namespace plumb::onnxruntime
