// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda_driver/status.hpp"

#include <map>
#include <set>

namespace plumb::stand_in {

const char* status_name(int status) {
  static const std::map<int, const char*> kNames{
      {kSuccess, "CUDA_SUCCESS"},
      {kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
      {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
      {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED"},
      {100, "CUDA_ERROR_NO_DEVICE"},
      {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE"},
      {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE"},
      {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
      {kContained, "CUDA_ERROR_CONTAINED"},
      {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
      {kNotFound, "CUDA_ERROR_NOT_FOUND"},
      {kNotReady, "CUDA_ERROR_NOT_READY"},
      {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {kContextIsDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
      {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"},
      {kTensorMemoryLeak, "CUDA_ERROR_TENSOR_MEMORY_LEAK"},
      {kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {kCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
      {kCaptureMerge, "CUDA_ERROR_STREAM_CAPTURE_MERGE"},
      {kCaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"},
      {kCaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"},
      {kCaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"},
      {kCaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"},
      {kCapturedEvent, "CUDA_ERROR_CAPTURED_EVENT"},
      {kCaptureWrongThread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
      {kGraphUpdateFailed, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"},
      {kUnknown, "CUDA_ERROR_UNKNOWN"},
  };
  const auto at = kNames.find(status);
  return at == kNames.end() ? nullptr : at->second;
}

bool is_sticky(int status) {
  static const std::set<int> kSticky{kContained,
                                     kIllegalAddress,
                                     702,  // CUDA_ERROR_LAUNCH_TIMEOUT
                                     714,  // CUDA_ERROR_HARDWARE_STACK_ERROR
                                     715,  // CUDA_ERROR_ILLEGAL_INSTRUCTION
                                     716,  // CUDA_ERROR_MISALIGNED_ADDRESS
                                     717,  // CUDA_ERROR_INVALID_ADDRESS_SPACE
                                     718,  // CUDA_ERROR_INVALID_PC
                                     kLaunchFailed,
                                     kTensorMemoryLeak,
                                     911};  // CUDA_ERROR_EXTERNAL_DEVICE
  return kSticky.contains(status);
}

}  // namespace plumb::stand_in
