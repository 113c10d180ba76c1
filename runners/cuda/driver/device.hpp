// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "harness/base/file_io.hpp"
#include "harness/base/units.hpp"
#include "harness/results/run.hpp"
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

/// Lock on one GPU against other workers, of all users of this machine. It locks a file named after
/// the GPU, and the system releases it whenever the process ends.
class DeviceLock {
 public:
  /// Takes the lock, which workers that take turns share: `harness` is the process that lets them
  /// take turns. Absent: the lock is this worker's alone. Throws Error{kTryAgain} naming the
  /// process that has it, and Error{kEnvironment} if the file cannot be made or written.
  explicit DeviceLock(const std::string& uuid,
                      const std::filesystem::path& folder = std::filesystem::temp_directory_path(),
                      std::optional<int> harness = {});

 private:
  FileDescriptor file_;
};

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
