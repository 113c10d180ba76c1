// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/results/environment.hpp"

namespace plumb::results {

/// Returns whether the environment is of a GPU, not of a processor.
[[nodiscard]] inline bool is_gpu(const Environment& environment) {
  // The CUDA worker says "gpu", imported results of NVBench say "gpu.model".
  return environment.identity.contains("gpu") || environment.identity.contains("gpu.model");
}

/// Returns the model name of the device that was measured: the GPU's, or else the processor's. It
/// is as the system gives it. Empty: unknown.
[[nodiscard]] inline std::string device_model(const Environment& environment) {
  for (const char* const name : {"gpu", "gpu.model", "cpu.model"}) {
    if (const auto found = environment.identity.find(name); found != environment.identity.end()) {
      return found->second;
    }
  }
  return {};
}

}  // namespace plumb::results
