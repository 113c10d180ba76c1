// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/observe/profiler_library.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "harness/base/error.hpp"
#include "runners/cuda/observe/metrics_abi.hpp"

namespace plumb::cuda {
namespace {

const std::vector<std::string>& names() {
  static const std::vector<std::string> list{"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
  return list;
}

const char* what_helps(int status) {
  switch (status) {
    case abi::kInsufficientPrivileges:
      return "the driver allows counters only to administrators: run as root, or load the module "
             "nvidia with NVreg_RestrictProfilingToAdminUsers=0";
    case abi::kVirtualizedPrivileges:
      return "the hypervisor must allow profiling of its GPU";
    case abi::kConfidentialComputing:
      return "confidential computing must be off";
    case abi::kPartitionedGpu:
      return "profiling needs a whole GPU, not a part of one (MIG)";
    default:
      return "profiling needs a driver, and a process that no other profiler watches";
  }
}

}  // namespace

ProfilerLibrary::ProfilerLibrary()
    : library_(names(),
               "it comes with the CUDA toolkit (counters from 12.6 on), or as "
               "nvidia-cuda-cupti") {
  abi::for_each_profiler_text_call(
      calls_, [this](auto& call, const char* name) { library_.find(call, name); });
}

void ProfilerLibrary::check(int status, const char* what) const {
  if (status != abi::kProfilerSuccess) {
    const char* text = nullptr;
    static_cast<void>(calls_.result_text(status, &text));
    throw Error(Error::Kind::kEnvironment,
                fmt::format("CUPTI: {}: {} ({}): {}",
                            what,
                            text != nullptr ? text : "no description",
                            status,
                            what_helps(status)));
  }
}

std::string ProfilerLibrary::version() const {
  std::uint32_t number = 0;
  static_cast<void>(calls_.version(&number));
  return fmt::format("CUPTI {} ({})", number, library_.name());
}

}  // namespace plumb::cuda
