// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
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
  /// GPU reserved for this process: its primary context and a lock. The libraries use that context
  /// too. The lock keeps Plumbline's other workers off the GPU. The device must outlive it.
  class Context {
   public:
    /// Lock on one GPU against other workers, of all users of this machine. It locks a file named
    /// after the GPU, and the system releases it whenever the process ends.
    class Lock {
     public:
      /// Takes the lock, which workers that take turns share: `harness` is the process that lets
      /// them take turns. Absent: the lock is this worker's alone. Throws Error{kTryAgain} naming
      /// the process that has it, and Error{kEnvironment} if the file cannot be made or written.
      explicit Lock(const std::string& uuid,
                    const std::filesystem::path& folder = std::filesystem::temp_directory_path(),
                    std::optional<int> harness = {});

     private:
      FileDescriptor file_;
    };

    /// Reserves the GPU, for the workers of `harness` that take turns on it or else for this one
    /// alone (Lock). Throws Error{kTryAgain} while another worker has it, and Driver::Refusal if
    /// it does not start.
    explicit Context(const Device& device, std::optional<int> harness = {});
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    Context(Context&&) = delete;
    Context& operator=(Context&&) = delete;

    [[nodiscard]] const Device& device() const { return device_; }
    [[nodiscard]] const Driver& driver() const { return device_.driver(); }
    [[nodiscard]] abi::Context get() const { return context_; }
    [[nodiscard]] Bytes free_memory() const;
    /// Returns how much of the GPU's memory contexts, libraries and programs hold, in all
    /// processes.
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
    Lock lock_;
    abi::Context context_ = nullptr;
  };

  /// Owner of bytes in the GPU's memory, aligned to 256 bytes. The context must be current and
  /// outlive it.
  class Memory {
   public:
    /// Owner of page-locked host memory that mirrors a buffer on the GPU. Copies between the two go
    /// straight, in the order of a stream. The context must be current and outlive it.
    class Mirror {
     public:
      /// Allocates the host memory. Throws std::bad_alloc.
      Mirror(const Driver& driver, abi::DevicePointer buffer, std::size_t bytes);
      ~Mirror();
      Mirror(Mirror&& other) noexcept;
      Mirror& operator=(Mirror&& other) = delete;
      Mirror(const Mirror&) = delete;
      Mirror& operator=(const Mirror&) = delete;

      [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
      /// Copies to the GPU, without waiting. Throws Driver::Refusal.
      void enqueue_upload(abi::Stream stream) const;
      /// Copies from the GPU, without waiting. Throws Driver::Refusal.
      void enqueue_download(abi::Stream stream) const;

     private:
      const Driver& driver_;
      abi::DevicePointer buffer_;
      std::span<std::byte> bytes_;
    };

    Memory() = default;
    /// Allocates `bytes`, or nothing for 0. Throws std::bad_alloc.
    Memory(const Driver& driver, std::size_t bytes);
    ~Memory();
    Memory(Memory&& other) noexcept;
    Memory& operator=(Memory&& other) noexcept;
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    [[nodiscard]] abi::DevicePointer address() const { return address_; }  ///< 0: nothing is owned
    [[nodiscard]] std::size_t size() const { return bytes_; }

   private:
    const Driver* driver_ = nullptr;
    abi::DevicePointer address_ = 0;
    std::size_t bytes_ = 0;
  };

  /// Finds one of the GPUs that the driver shows (CUDA_VISIBLE_DEVICES hides others): by its number
  /// among them, or by its identifier or the beginning of it. An empty choice is the first. Throws
  /// Error{kEnvironment} with a list if the choice names none, and Driver::Refusal.
  explicit Device(const Driver& driver, const std::string& choice = {});

  [[nodiscard]] const Driver& driver() const { return driver_; }
  [[nodiscard]] abi::Device number() const { return device_; }
  [[nodiscard]] int architecture() const { return architecture_; }  ///< 90: compute capability 9.0
  [[nodiscard]] const std::string& name() const { return name_; }   ///< as the driver calls it
  [[nodiscard]] const std::string& uuid() const { return uuid_; }   ///< "GPU-5b0c…"
  [[nodiscard]] Bytes l2_cache() const;
  [[nodiscard]] Bytes memory() const;
  /// Throws Driver::Refusal.
  [[nodiscard]] int attribute(abi::DriverCalls::DeviceAttribute name) const;

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

/// Puts into a stream that each of `bytes` bytes becomes `value`. Throws Driver::Refusal.
void set_bytes(const Driver& driver,
               abi::DevicePointer to,
               unsigned char value,
               std::size_t bytes,
               abi::Stream stream);
/// Copies to the GPU and waits for it. Throws Driver::Refusal.
void upload(const Driver& driver, abi::DevicePointer to, std::span<const std::byte> bytes);
/// Copies from the GPU and waits for it. Throws Driver::Refusal.
void download(const Driver& driver, std::span<std::byte> bytes, abi::DevicePointer from);

}  // namespace plumb::cuda
