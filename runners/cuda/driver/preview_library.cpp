// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/driver/preview_library.hpp"

#include <dlfcn.h>

#include <system_error>

namespace plumb::cuda {

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

}  // namespace plumb::cuda
