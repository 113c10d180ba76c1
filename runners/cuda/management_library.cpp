// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/management_library.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "harness/base/error.hpp"
#include "runners/cuda/dynamic_library.hpp"

namespace plumb::cuda {
namespace {

using Handle = void*;

constexpr int kInsufficientSize = 7;

/// Is nvmlProcessInfo_t of nvmlDeviceGetComputeRunningProcesses_v3.
struct Process {
  unsigned pid = 0;
  unsigned long long memory = 0;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};

enum class Clock : unsigned { kSm = 1, kMemory = 2 };

/// Holds what is asked for; nothing else of the library is used.
struct Calls {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*by_uuid)(const char*, Handle*) = nullptr;
  int (*mig_mode)(Handle, unsigned*, unsigned*) = nullptr;
  int (*clock)(Handle, Clock, unsigned*) = nullptr;
  int (*max_clock)(Handle, Clock, unsigned*) = nullptr;
  int (*power_limit)(Handle, unsigned*) = nullptr;  // milliwatts
  int (*temperature)(Handle, unsigned, unsigned*) = nullptr;
  int (*processes)(Handle, unsigned*, Process*) = nullptr;
};

Calls found_in(const DynamicLibrary& library) {
  Calls calls;
  library.find(calls.init, "nvmlInit_v2");
  library.find(calls.shutdown, "nvmlShutdown");
  library.find(calls.driver_version, "nvmlSystemGetDriverVersion");
  library.find(calls.by_uuid, "nvmlDeviceGetHandleByUUID");
  library.find(calls.mig_mode, "nvmlDeviceGetMigMode");
  library.find(calls.clock, "nvmlDeviceGetClockInfo");
  library.find(calls.max_clock, "nvmlDeviceGetMaxClockInfo");
  library.find(calls.power_limit, "nvmlDeviceGetEnforcedPowerLimit");
  library.find(calls.temperature, "nvmlDeviceGetTemperature");
  library.find(calls.processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  return calls;
}

/// Counts others that compute on the GPU; empty: the library does not say.
std::optional<std::size_t> other_processes(const Calls& calls, Handle device) {
  unsigned count = 0;
  const int status = calls.processes(device, &count, nullptr);
  if (status == 0 && count == 0) {
    return 0;
  }
  std::vector<Process> list(std::size_t{count} + 16);  // more may have started since
  count = static_cast<unsigned>(list.size());
  if ((status != 0 && status != kInsufficientSize) ||
      calls.processes(device, &count, list.data()) != 0) {
    return std::nullopt;
  }
  const auto end = list.begin() + std::min<std::ptrdiff_t>(count, std::ssize(list));
  return std::count_if(list.begin(), end, [me = static_cast<unsigned>(getpid())](const auto& one) {
    return one.pid != me;
  });
}

void describe_device(const Calls& calls, Handle device, Environment& environment) {
  Facts& facts = environment.facts;
  unsigned value = 0;
  unsigned pending = 0;
  if (calls.mig_mode(device, &value, &pending) == 0) {
    environment.identity["gpu.mig"] = value != 0 ? "on" : "off";
  }
  const auto hertz = [&](const char* name, auto call, Clock clock) {
    if (call(device, clock, &value) == 0) {
      facts[name] = fmt::format("{}", 1'000'000ULL * value);
    }
  };
  hertz("gpu.clock_now_hertz", calls.clock, Clock::kSm);
  hertz("gpu.clock_max_hertz", calls.max_clock, Clock::kSm);
  hertz("gpu.memory_clock_now_hertz", calls.clock, Clock::kMemory);
  hertz("gpu.memory_clock_max_hertz", calls.max_clock, Clock::kMemory);
  if (calls.power_limit(device, &value) == 0) {
    facts["gpu.power_limit_watts"] = fmt::format("{:.1f}", value / 1000.0);
  }
  if (calls.temperature(device, 0, &value) == 0) {
    facts["gpu.temperature_celsius"] = fmt::format("{}", value);
  }
  if (const auto others = other_processes(calls, device)) {
    facts["gpu.other_processes"] = fmt::format("{}", *others);
  }
}

}  // namespace

void describe_management(const std::string& uuid, Environment& environment) {
  std::string& state = environment.facts["gpu.management"];
  try {
    const std::array<std::string, 1> names{"libnvidia-ml.so.1"};
    const DynamicLibrary library(names, "it comes with the driver");
    const Calls calls = found_in(library);
    if (const int status = calls.init(); status != 0) {
      state = fmt::format("NVML does not start ({})", status);
      return;
    }
    std::array<char, 96> version{};
    if (calls.driver_version(version.data(), version.size() - 1) == 0) {
      environment.identity["driver"] = version.data();
    }
    Handle device = nullptr;
    if (const int status = calls.by_uuid(uuid.c_str(), &device); status == 0) {
      describe_device(calls, device, environment);
      state = "NVML";
    } else {
      state = fmt::format("NVML does not know {} ({})", uuid, status);
    }
    static_cast<void>(calls.shutdown());
  } catch (const Error& error) {
    state = error.what();
  }
}

}  // namespace plumb::cuda
