// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "runners/cuda/driver/driver_abi.hpp"

namespace plumb::cuda {

/// Shared library, loaded by name and kept until the process ends.
class DynamicLibrary {
 public:
  /// Owner of a descriptor or a handle that one of NVIDIA's libraries made. It destroys that by the
  /// library's call. The library must outlive it.
  class Owned {
   public:
    Owned(void* handle, int (*destroy)(void*)) : handle_(handle), destroy_(destroy) {}
    ~Owned() {
      if (handle_ != nullptr) {
        static_cast<void>(destroy_(handle_));
      }
    }
    Owned(Owned&& other) noexcept
        : handle_(std::exchange(other.handle_, nullptr)), destroy_(other.destroy_) {}
    Owned& operator=(Owned&& other) noexcept {
      std::swap(handle_, other.handle_);
      std::swap(destroy_, other.destroy_);
      return *this;
    }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    [[nodiscard]] void* get() const { return handle_; }

   private:
    void* handle_;
    int (*destroy_)(void*);
  };

  /// Refusal by the driver or one of NVIDIA's libraries, with the reason. As a rule the reason is
  /// the library's own message.
  class Refusal : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
  };

  /// Loads the first of the names that the loader finds. Throws Error{kEnvironment} with the
  /// loader's message for the last of them, then `what_to_do`.
  DynamicLibrary(std::span<const std::string> names, const std::string& what_to_do);

  /// Finds an entry point by name. Throws Error{kEnvironment} if the library has none.
  template <typename Function>
  void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(symbol(name));
  }

  /// Finds an entry point that the library may lack. Null: it does.
  template <typename Function>
  void find_if_there(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(symbol_or_null(name));
  }

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  [[nodiscard]] void* symbol_or_null(const char* name) const;
  [[nodiscard]] void* symbol(const char* name) const;

  std::string name_;
  std::string what_to_do_;
  void* handle_ = nullptr;
};

/// Makes a descriptor or a handle by a library's call. `what` names it where the library refuses,
/// and its check() then throws.
template <typename Library>
[[nodiscard]] DynamicLibrary::Owned make_owned(const Library& library,
                                               int (*create)(void**),
                                               int (*destroy)(void*),
                                               const char* what) {
  void* handle = nullptr;
  library.check(create(&handle), what);
  return {handle, destroy};
}

/// Statuses after which a process can do nothing more on its GPU, as cuda.h describes them: the
/// context is corrupt or gone, or the GPU has to be reset. What lies between them is a refusal.
inline constexpr std::array kLosingStatuses{
    214,  // ECC_UNCORRECTABLE
    220,  // NVLINK_UNCORRECTABLE
    226,  // CONTAINED
    700,  // ILLEGAL_ADDRESS
    702,  // LAUNCH_TIMEOUT
    709,  // CONTEXT_IS_DESTROYED
    710,  // ASSERT
    714,  // HARDWARE_STACK_ERROR
    715,  // ILLEGAL_INSTRUCTION
    716,  // MISALIGNED_ADDRESS
    717,  // INVALID_ADDRESS_SPACE
    718,  // INVALID_PC
    719,  // LAUNCH_FAILED
    721,  // TENSOR_MEMORY_LEAK
    911,  // EXTERNAL_DEVICE
    999,  // UNKNOWN
};

/// Returns whether a status of the driver means that the context is lost.
[[nodiscard]] constexpr bool loses_context(int status) {
  return std::find(kLosingStatuses.begin(), kLosingStatuses.end(), status) != kLosingStatuses.end();
}

/// Statuses by which the driver says that it cannot do what was asked, now or ever, on this GPU.
inline constexpr std::array kRefusingStatuses{
    209,  // NO_BINARY_FOR_GPU
    222,  // UNSUPPORTED_PTX_VERSION
    701,  // LAUNCH_OUT_OF_RESOURCES
    801,  // NOT_SUPPORTED
};

/// Returns whether a status of the driver says that something is not supported.
[[nodiscard]] constexpr bool says_unsupported(int status) {
  return std::find(kRefusingStatuses.begin(), kRefusingStatuses.end(), status) !=
         kRefusingStatuses.end();
}

/// Loads the driver for previews (runners/cuda/preview), unless the machine has a driver. cuDNN
/// then also says what it would choose among the kernels that it compiles itself. Must be called
/// before cuDNN is loaded. Without the file nothing happens, and cuDNN says less.
void load_preview_driver(const std::filesystem::path& file);

/// Returns where the file lies: beside the running program.
[[nodiscard]] std::filesystem::path preview_driver_file();

/// Returns whether the process has the driver for previews in place of a real one.
[[nodiscard]] bool preview_driver_is_loaded();

/// NVIDIA driver of this machine, loaded by name and initialised.
class Driver {
 public:
  /// Refusal of a call by the driver, with its status and its message.
  class Refusal : public DynamicLibrary::Refusal {
   public:
    Refusal(int status, const std::string& text) : DynamicLibrary::Refusal(text), status_(status) {}
    [[nodiscard]] int status() const { return status_; }

   private:
    int status_;
  };

  /// Loads and initialises the driver. Throws Error{kEnvironment}, beginning with "no NVIDIA
  /// driver" or "no GPU", that says what is missing and what to do.
  Driver();

  /// Throws unless `status` is a success: std::bad_alloc if memory is short, else Refusal.
  /// `what` names the call. While the process has a context, a status that loses it
  /// (loses_context()) ends the process: every later call would fail, in the name of another layer.
  void check(int status, const char* what) const;
  /// Counts the contexts that the process has.
  void add_contexts(int number) const { contexts_ += number; }

  [[nodiscard]] const abi::DriverCalls& calls() const { return calls_; }
  /// Returns the calls that read and update captured graphs. Those that a driver before CUDA 12.3
  /// lacks are null.
  [[nodiscard]] const abi::DriverCalls::Graphs& graph_calls() const { return graph_calls_; }
  [[nodiscard]] std::string version() const;  ///< of CUDA, as the driver says: "13.0"
  [[nodiscard]] std::string path() const;     ///< of the library that is really mapped

 private:
  DynamicLibrary library_;
  abi::DriverCalls calls_;
  abi::DriverCalls::Graphs graph_calls_;
  mutable std::atomic<int> contexts_{0};
};

}  // namespace plumb::cuda
