// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plumb::stand_in {

/// Values of CUresult that the stand-in returns, as cuda.h documents them.
enum Status : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kContained = 226,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kContextIsDestroyed = 709,
  kLaunchFailed = 719,
  kTensorMemoryLeak = 721,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureMerge = 902,
  kCaptureUnmatched = 903,
  kCaptureUnjoined = 904,
  kCaptureIsolation = 905,
  kCaptureImplicit = 906,
  kCapturedEvent = 907,
  kCaptureWrongThread = 908,
  kGraphUpdateFailed = 910,
  kUnknown = 999,
};

/// Returns the enumerator's name, or null for a number that cuda.h has not.
[[nodiscard]] const char* status_name(int status);

/// Returns whether any further CUDA work returns the same error until the process ends. cuda.h says
/// so for each of them ("This leaves the process in an inconsistent state").
[[nodiscard]] bool is_sticky(int status);

}  // namespace plumb::stand_in
