// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/results/environment.hpp"
#include "runners/cuda/driver/device_health.hpp"
#include "runners/cuda/driver/dynamic_library.hpp"
#include "runners/cuda/driver/management_abi.hpp"

namespace plumb::cuda {

/// GPU as seen by NVIDIA's management library (NVML). Values that the library or this GPU does not
/// report are absent. sample(), errors() and energy() may be called from one thread each.
class ManagedDevice {
 public:
  /// Loads the library and finds the GPU. Throws Error{kEnvironment} that says why there is none:
  /// no library, or it does not know the GPU.
  explicit ManagedDevice(const std::string& uuid);
  ~ManagedDevice();
  ManagedDevice(const ManagedDevice&) = delete;
  ManagedDevice& operator=(const ManagedDevice&) = delete;
  ManagedDevice(ManagedDevice&&) = delete;
  ManagedDevice& operator=(ManagedDevice&&) = delete;

  /// Adds the driver's version and MIG's state to the identity. Adds clocks, the power limit and,
  /// as "gpu.other_processes", how many other processes compute on it to the facts.
  void describe(results::Environment& environment) const;

  [[nodiscard]] HealthSample sample() const;
  /// Returns the errors so far. Its Xids are those since the call before, or since construction.
  [[nodiscard]] HealthErrors errors();
  /// Reads the energy counter, in millijoules since the driver was loaded.
  [[nodiscard]] std::optional<std::uint64_t> energy() const;

 private:
  void watch_events();

  DynamicLibrary library_;
  abi::ManagementCalls calls_;
  abi::ManagedHandle device_ = nullptr;
  abi::EventSet events_ = nullptr;
};

/// Describes a GPU as ManagedDevice does. If that fails, the fact "gpu.management" says why. Throws
/// nothing.
void describe_management(const std::string& uuid, results::Environment& environment);

}  // namespace plumb::cuda
