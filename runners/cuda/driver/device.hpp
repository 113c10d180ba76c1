// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/base/units.hpp"
#include "harness/results/environment.hpp"
#include "runners/cuda/driver/driver.hpp"

namespace plumb::cuda {

/// One GPU as the driver describes it. It takes none of the GPU's resources. The driver must
/// outlive it.
class Device {
 public:
  /// Finds one of the GPUs that the driver shows (CUDA_VISIBLE_DEVICES hides others): by its number
  /// among them, or by its identifier or the beginning of it. An empty choice is the first. Throws
  /// Error{kEnvironment} with a list if the choice names none, and DriverRefusal.
  explicit Device(const Driver& driver, const std::string& choice = {});

  [[nodiscard]] const Driver& driver() const { return driver_; }
  [[nodiscard]] abi::Device number() const { return device_; }
  [[nodiscard]] int architecture() const { return architecture_; }  ///< 90: compute capability 9.0
  [[nodiscard]] const std::string& name() const { return name_; }   ///< as the driver calls it
  [[nodiscard]] const std::string& uuid() const { return uuid_; }   ///< "GPU-5b0c…"
  [[nodiscard]] Bytes l2_cache() const;
  [[nodiscard]] Bytes memory() const;
  /// Throws DriverRefusal.
  [[nodiscard]] int attribute(abi::DeviceAttribute name) const;

  /// Adds "gpu", "gpu.memory", "gpu.uuid", "gpu.mig" and "driver" to the identity. Adds its number,
  /// clocks, caches, bus and all else that the driver and NVML report to the facts.
  void describe(results::Environment& environment) const;

 private:
  const Driver& driver_;
  int index_ = 0;
  abi::Device device_ = 0;
  std::string name_;
  std::string uuid_;
  int architecture_ = 0;
};

/// Returns an identifier as NVIDIA's tools write it: "GPU-5b0c…-…".
[[nodiscard]] std::string uuid_text(const abi::Uuid& uuid);

}  // namespace plumb::cuda
