// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/driver/dynamic_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "harness/base/error.hpp"

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

}  // namespace plumb::cuda
