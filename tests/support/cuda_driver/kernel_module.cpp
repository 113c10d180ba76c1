// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda_driver/kernel_module.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <sstream>

#include "tests/support/cuda_driver/kernel_runner.hpp"

namespace plumb::stand_in {

std::unique_ptr<KernelModule> load_module(const char* image) {
  const std::size_t magic = std::strlen(kImageMagic);
  if (std::strncmp(image, kImageMagic, magic) != 0) {
    return nullptr;
  }
  std::istringstream lines(image + magic);
  std::string path;
  std::getline(lines, path);
  auto module = std::make_unique<KernelModule>();
  if (path.empty()) {
    for (std::string name; std::getline(lines, name);) {
      module->functions.emplace(name, std::make_unique<KernelFunction>()).first->second->name =
          name;
    }
    return module;
  }
  module->library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module->library == nullptr) {
    std::fprintf(stderr, "CUDA stand-in: %s\n", dlerror());
    return nullptr;
  }
  const auto find = [&](const std::string& name) { return dlsym(module->library, name.c_str()); };
  const auto barrier = static_cast<void (**)()>(find("plumb_barrier"));
  if (barrier == nullptr) {
    return nullptr;
  }
  *barrier = wait_for_block;
  for (std::string name; std::getline(lines, name);) {
    auto function = std::make_unique<KernelFunction>();
    function->name = name;
    function->run = reinterpret_cast<void (*)(void**)>(find("plumb_run_" + name));
    function->places = reinterpret_cast<void* (*)()>(find("plumb_places"));
    const auto* bytes = static_cast<const unsigned long*>(find("plumb_bytes_" + name));
    if (function->run == nullptr || function->places == nullptr || bytes == nullptr) {
      return nullptr;
    }
    for (; *bytes != 0; ++bytes) {
      function->parameter_bytes.push_back(*bytes);
    }
    module->functions.emplace(name, std::move(function));
  }
  return module;
}

Operation kernel_operation(std::shared_ptr<Launch> launch) {
  Operation operation;
  operation.kind = WorkKind::kKernel;
  operation.name = launch->function->name;
  operation.launch = launch;
  operation.run = [launch](AccessLog& log) { return run_kernel(*launch, log); };
  return operation;
}

}  // namespace plumb::stand_in
