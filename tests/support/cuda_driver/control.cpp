// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda_driver/control.hpp"

#include <bit>

#include "tests/support/cuda_driver/kernel_module.hpp"
#include "tests/support/cuda_driver/kernel_runner.hpp"
#include "tests/support/cuda_driver/machine.hpp"

namespace plumb::stand_in {
namespace {

void reset(unsigned seed) {
  Machine& device = machine();
  const std::lock_guard lock(device.mutex);
  device.findings.clear();
  device.faults.clear();
  device.calls.clear();
  device.kernels = 0;
  device.lost = 0;
  device.injected = 0;
  device.devices = 1;
  device.random.seed(seed);
}

void fail(const char* call, unsigned at, int status) {
  Machine& device = machine();
  const std::lock_guard lock(device.mutex);
  const unsigned before = std::string(call) == "kernel" ? device.kernels : device.calls[call];
  device.faults.push_back({call, before + at, status});
}

int library_call(const char* call) {
  Machine& device = machine();
  const std::lock_guard lock(device.mutex);
  const unsigned count = ++device.calls[call];
  for (const auto& fault : device.faults) {
    if (fault.call == call && fault.at == count) {
      return fault.status;
    }
  }
  return kSuccess;
}

unsigned calls(const char* call) {
  Machine& device = machine();
  const std::lock_guard lock(device.mutex);
  return device.calls[call];
}

void set_duration(Duration kind, std::uint64_t nanoseconds) {
  Machine& device = machine();
  const std::lock_guard lock(device.mutex);
  device.cost.at(static_cast<std::size_t>(kind)) = nanoseconds;
}

void set_delay(unsigned longest) {
  Machine& device = machine();
  const std::lock_guard lock(device.mutex);
  device.longest_delay = longest;
}

void set_memory(std::size_t bytes) {
  machine().memory.set_capacity(bytes);
}

std::string findings() {
  std::string text;
  for (const Finding& finding : machine().findings.list()) {
    text += finding.rule + ": " + finding.text + "\n";
  }
  return text;
}

Living living() {
  Machine& device = machine();
  const std::lock_guard lock(device.mutex);
  return {device.memory.live(),
          device.host_memory.live(),
          device.streams.size() - (device.legacy != nullptr ? 1 : 0),
          device.events.size(),
          device.graphs.size(),
          device.executables.size(),
          device.modules.size(),
          device.references};
}

void set_devices(int count) {
  Machine& device = machine();
  const std::lock_guard lock(device.mutex);
  device.devices = count;
}

int retained_device() {
  Machine& state = machine();
  const std::lock_guard lock(state.mutex);
  return state.references > 0 ? state.device : -1;
}

int enqueue(void* stream, const char* name, std::vector<Range> ranges, std::function<void()> run) {
  Machine& device = machine();
  const std::lock_guard lock(device.mutex);
  if (device.lost != 0) {
    return device.lost;
  }
  Stream* const target = device.stream_of(stream);
  if (target == nullptr) {
    return kInvalidHandle;
  }
  Operation operation;
  operation.kind = WorkKind::kKernel;
  operation.name = name;
  // A library's work is a node of its own kernel, with one block of one thread.
  operation.launch = std::make_shared<Launch>();
  static std::map<std::string, std::unique_ptr<KernelFunction>>& functions =
      *new std::map<std::string, std::unique_ptr<KernelFunction>>;
  auto& function = functions[name];
  if (function == nullptr) {
    function = std::make_unique<KernelFunction>();
    function->name = name;
  }
  operation.launch->function = function.get();
  operation.run = [ranges = std::move(ranges), run = std::move(run)](AccessLog& log) {
    for (const Range& range : ranges) {
      if (const int status = note_range(
              log, std::bit_cast<std::uint64_t>(range.address), range.bytes, range.write);
          status != kSuccess) {
        return status;
      }
    }
    run();
    return static_cast<int>(kSuccess);
  };
  return device.enqueue(*target, std::move(operation));
}

}  // namespace
}  // namespace plumb::stand_in

extern "C" __attribute__((visibility("default")))
const plumb::stand_in::Control plumb_stand_in_control{plumb::stand_in::reset,
                                                      plumb::stand_in::fail,
                                                      plumb::stand_in::library_call,
                                                      plumb::stand_in::calls,
                                                      plumb::stand_in::set_duration,
                                                      plumb::stand_in::set_delay,
                                                      plumb::stand_in::set_memory,
                                                      plumb::stand_in::findings,
                                                      plumb::stand_in::living,
                                                      plumb::stand_in::set_devices,
                                                      plumb::stand_in::retained_device,
                                                      plumb::stand_in::enqueue};
