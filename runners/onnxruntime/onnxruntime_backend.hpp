// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "harness/worker/protocol/backend.hpp"

namespace plumb::onnxruntime {

/// Stack variable with the level of graph optimisation of the mode `fusion`: basic, extended or
/// all (the runtime's default).
inline constexpr const char* kOptimizationVariable = "PLUMB_ONNXRUNTIME_OPTIMIZATION";

/// Stack variable with the execution provider that is asked before the CPU's, by the name that
/// SessionOptionsAppendExecutionProvider() takes: OpenVINO, XNNPACK…
inline constexpr const char* kProviderVariable = "PLUMB_ONNXRUNTIME_PROVIDER";

/// Makes the backend over ONNX Runtime on the CPU. Throws Error{kEnvironment} if the libraries are
/// not ONNX Runtime or lack the provider in kProviderVariable, and Error{kUser} for an unknown
/// level in kOptimizationVariable.
[[nodiscard]] std::unique_ptr<worker::Backend> make_onnxruntime_backend(
    const std::vector<std::filesystem::path>& libraries, int threads);

}  // namespace plumb::onnxruntime
