// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "harness/base/units.hpp"
#include "runners/cuda/driver/device.hpp"
#include "runners/cuda/driver/device_lock.hpp"

namespace plumb::cuda {

/// GPU reserved for this process: its primary context and a lock. The libraries use that context
/// too. The lock keeps Plumbline's other workers off the GPU. The device must outlive it.
class DeviceContext {
 public:
  /// Reserves the GPU, for the workers of `harness` that take turns on it or else for this one
  /// alone (DeviceLock). Throws Error{kTryAgain} while another worker has it, and DriverRefusal if
  /// it does not start.
  explicit DeviceContext(const Device& device, std::optional<int> harness = {});
  ~DeviceContext();
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;
  DeviceContext(DeviceContext&&) = delete;
  DeviceContext& operator=(DeviceContext&&) = delete;

  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] const Driver& driver() const { return device_.driver(); }
  [[nodiscard]] abi::Context get() const { return context_; }
  [[nodiscard]] Bytes free_memory() const;
  /// Returns how much of the GPU's memory contexts, libraries and programs hold, in all processes.
  [[nodiscard]] Bytes held_memory() const;

  /// Makes the context current in the calling thread.
  void use() const;

 private:
  struct Memory {
    std::size_t free = 0;  ///< bytes
    std::size_t total = 0;
  };
  [[nodiscard]] Memory memory() const;

  const Device& device_;
  DeviceLock lock_;
  abi::Context context_ = nullptr;
};

}  // namespace plumb::cuda
