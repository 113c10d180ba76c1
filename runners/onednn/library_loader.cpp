// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/library_loader.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>
#include <system_error>

#include "harness/base/error.hpp"
#include "runners/onednn/onednn_backend.hpp"

namespace plumb::onednn {
namespace {

constexpr const char* kHowToGet =
    "run ci/setup, which unpacks the default one, or name another 3.x in the stack (plumb stacks "
    "fetch)";

std::string last_error() {
  const char* const text = dlerror();
  return text != nullptr ? text : "unknown reason";
}

void load_library(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    throw Error(
        Error::Kind::kEnvironment,
        fmt::format("the oneDNN library '{}' does not exist: {}", path.string(), kHowToGet));
  }
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("the library '{}' cannot be loaded ({}): install what it needs, or {}",
                            path.string(),
                            last_error(),
                            kHowToGet));
  }
}

/// Checks the version by symbol, so that a wrong library gives a message and not a crash.
void check_is_version_3() {
  struct Version {  // the beginning of dnnl_version_t, the same in all versions
    int major;
    int minor;
    int patch;
  };
  void* const symbol = dlsym(RTLD_DEFAULT, "dnnl_version");
  if (symbol == nullptr) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("none of the stack's libraries is oneDNN (no symbol dnnl_version): {}",
                            kHowToGet));
  }
  const Version& version = *reinterpret_cast<const Version* (*)()>(symbol)();
  if (version.major != 3) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("this worker needs oneDNN 3.x, and the stack's is {}.{}.{}: {}",
                            version.major,
                            version.minor,
                            version.patch,
                            kHowToGet));
  }
}

}  // namespace

std::unique_ptr<worker::Backend> load_backend(const std::vector<std::filesystem::path>& libraries,
                                              const std::filesystem::path& module) {
  for (const std::filesystem::path& path : libraries) {
    load_library(path);
  }
  check_is_version_3();
  void* const handle = dlopen(module.c_str(), RTLD_LAZY | RTLD_LOCAL);
  void* const symbol = handle != nullptr ? dlsym(handle, kModuleEntry) : nullptr;
  if (symbol == nullptr) {
    throw Error(
        Error::Kind::kEnvironment,
        fmt::format(
            "the worker's module '{}' cannot be loaded ({}): build or install the whole project",
            module.string(),
            last_error()));
  }
  return std::unique_ptr<worker::Backend>(reinterpret_cast<ModuleEntry>(symbol)());
}

std::filesystem::path default_module() {
  // Not by /proc/self/exe, which is the program loader where a stack brings its own.
  Dl_info here{};
  PLUMB_CHECK(dladdr(reinterpret_cast<const void*>(&default_module), &here) != 0);
  return std::filesystem::canonical(here.dli_fname).parent_path() / "plumb-onednn-backend.so";
}

}  // namespace plumb::onednn
