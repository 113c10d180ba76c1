// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/driver/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <system_error>

#include "harness/base/error.hpp"
#include "runners/engine/exec/this_process.hpp"

namespace plumb::cuda {

DynamicLibrary::DynamicLibrary(std::span<const std::string> names, const std::string& what_to_do)
    : what_to_do_(what_to_do) {
  std::string words = "no name was given";
  for (const std::string& name : names) {
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (handle_ != nullptr) {
      name_ = name;
      return;
    }
    const char* const text = dlerror();
    words = text != nullptr ? text : "unknown reason";
  }
  throw Error(Error::Kind::kEnvironment, fmt::format("{}: {}", words, what_to_do_));
}

void* DynamicLibrary::symbol_or_null(const char* name) const {
  return dlsym(handle_, name);
}

void* DynamicLibrary::symbol(const char* name) const {
  void* const found = symbol_or_null(name);
  if (found == nullptr) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("{} has no entry point {}: {}", name_, name, what_to_do_));
  }
  return found;
}

void load_preview_driver(const std::filesystem::path& file) {
  if (dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) == nullptr) {
    static_cast<void>(dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL));
  }
}

std::filesystem::path preview_driver_file() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path() /
         "plumb-preview-driver.so";
}

bool preview_driver_is_loaded() {
  return dlsym(RTLD_DEFAULT, "plumb_preview_driver") != nullptr;
}

namespace {

constexpr const char* kWhatToDo =
    "run on a machine with an NVIDIA GPU and its driver (580 or newer for CUDA 13), in a container "
    "with the GPU passed through";

DynamicLibrary driver_library() {
  if (preview_driver_is_loaded()) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("no NVIDIA driver: this machine has no libcuda.so.1: {}", kWhatToDo));
  }
  const std::array<std::string, 1> names{"libcuda.so.1"};
  try {
    return {names, kWhatToDo};
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("no NVIDIA driver: {}", error.what()));
  }
}

}  // namespace

Driver::Driver() : library_(driver_library()) {
  abi::for_each_driver_call(calls_,
                            [this](auto& call, const char* name) { library_.find(call, name); });
  abi::for_each_graph_call(
      graph_calls_, [this](auto& call, const char* name) { library_.find_if_there(call, name); });
  const int status = calls_.init(0);
  if (status == abi::kDriverStubLibrary) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("no NVIDIA driver: '{}' is the CUDA toolkit's stub: take its folder "
                            "out of LD_LIBRARY_PATH, and {}",
                            path(),
                            kWhatToDo));
  }
  int count = 0;
  if (status == abi::kDriverSuccess) {
    check(calls_.device_get_count(&count), "counting the GPUs");
  }
  if (status == abi::kDriverNoDevice || (status == abi::kDriverSuccess && count == 0)) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("no GPU: the driver '{}' finds none (CUDA_VISIBLE_DEVICES hides what "
                            "it does not name): {}",
                            path(),
                            kWhatToDo));
  }
  if (status != abi::kDriverSuccess) {
    const char* words = nullptr;
    static_cast<void>(calls_.get_error_string(status, &words));
    throw Error(Error::Kind::kEnvironment,
                fmt::format("no NVIDIA driver: '{}' does not start ({}: {}): restart the machine "
                            "if the driver was just updated, else {}",
                            path(),
                            status,
                            words != nullptr ? words : "unknown",
                            kWhatToDo));
  }
}

void Driver::check(int status, const char* what) const {
  if (status == abi::kDriverSuccess) {
    return;
  }
  if (status == abi::kDriverOutOfMemory) {
    throw std::bad_alloc();
  }
  const char* name = nullptr;
  const char* words = nullptr;
  static_cast<void>(calls_.get_error_name(status, &name));
  static_cast<void>(calls_.get_error_string(status, &words));
  const std::string text = fmt::format("{}: {} ({}): {}",
                                       what,
                                       name != nullptr ? name : "unknown error",
                                       status,
                                       words != nullptr ? words : "no description");
  if (contexts_ > 0 && loses_context(status)) {
    fmt::print(stderr, "the GPU's context is lost: {}\n", text);
    std::fflush(stderr);
    std::abort();
  }
  throw Driver::Refusal(status, text);
}

std::string Driver::version() const {
  int number = 0;
  check(calls_.driver_get_version(&number), "the driver's version");
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

std::string Driver::path() const {
  return engine::mapped_file(reinterpret_cast<const void*>(calls_.init)).string();
}

}  // namespace plumb::cuda
