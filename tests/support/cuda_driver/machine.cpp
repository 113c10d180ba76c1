// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda_driver/machine.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "tests/support/cuda_driver/kernel_module.hpp"

namespace plumb::stand_in {
namespace {

/// Binding of the calling thread to the primary context, as cuCtxSetCurrent() makes it.
struct Binding {
  bool bound = false;
  std::uint64_t generation = 0;
};

thread_local Binding binding;

/// Returns whether a call does its part even if it fails: what it waits for, or ends, has ended.
bool waits(const std::string& call) {
  return call == "cuStreamSynchronize" || call == "cuEventSynchronize" ||
         call == "cuCtxSynchronize" || call == "cuStreamEndCapture";
}

}  // namespace

/// Reads PLUMB_STAND_IN: "seed=3,delay=100,fail=cuMemAlloc_v2:3:2", for workers, which no test can
/// reach in memory.
Machine::Machine() {
  const char* const script = std::getenv("PLUMB_STAND_IN");
  std::stringstream words(script != nullptr ? script : "");
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (name == "seed") {
      random.seed(static_cast<unsigned>(std::stoul(value)));
    } else if (name == "delay") {
      longest_delay = static_cast<unsigned>(std::stoul(value));
    } else if (name == "memory") {
      memory.set_capacity(std::stoull(value));
    } else if (name == "devices") {
      devices = std::stoi(value);
    } else if (name == "serial") {
      serial = static_cast<unsigned>(std::stoul(value));
    } else if (name == "fail") {
      const std::size_t first = value.find(':');
      const std::size_t second = value.find(':', first + 1);
      faults.push_back({value.substr(0, first),
                        static_cast<unsigned>(std::stoul(value.substr(first + 1, second))),
                        std::stoi(value.substr(second + 1))});
    }
  }
}

Machine& machine() {
  static Machine& one = *new Machine;
  return one;
}

int Machine::enter(const char* name, bool needs_context) {
  const unsigned count = ++calls[name];
  if (!started && std::string(name) != "cuInit") {
    return kNotInitialized;
  }
  if (lost != 0) {
    return lost;
  }
  for (const Fault& fault : faults) {
    if (fault.call == name && fault.at == count) {
      lose(fault.status);
      if (!waits(fault.call) || is_sticky(fault.status)) {
        return fault.status;
      }
      injected = fault.status;
    }
  }
  if (!needs_context) {
    return kSuccess;
  }
  if (!binding.bound) {
    return kInvalidContext;
  }
  return binding.generation == generation && references > 0 ? kSuccess : kContextIsDestroyed;
}

void Machine::lose(int status) {
  if (is_sticky(status)) {
    lost = lost == 0 ? status : lost;
    changed.notify_all();
  }
}

void* Machine::retain_context() {
  if (references++ == 0) {
    legacy = create_stream(0);
  }
  return this;
}

void Machine::release_context() {
  if (--references > 0) {
    return;
  }
  destroy_stream(*legacy);
  legacy = nullptr;
  if (const std::size_t count = leaks(); count > 0 && lost == 0) {
    findings.add("leak",
                 "the context is destroyed, and " + std::to_string(count) +
                     " objects or pieces of memory of it are left");
  }
  generation += 1;
}

int Machine::set_current(void* context) {
  if (context != nullptr && context != this) {
    return kInvalidContext;
  }
  if (context != nullptr && references == 0) {
    return kContextIsDestroyed;
  }
  binding = {context != nullptr, generation};
  return kSuccess;
}

std::size_t Machine::leaks() {
  return memory.live() + host_memory.live() + events.size() + graphs.size() + executables.size() +
         modules.size() + streams.size() - (legacy != nullptr ? 1 : 0);
}

void Machine::found_dead_handle(const char* kind, void* handle) {
  findings.add("handle",
               std::string("a call uses a ") + kind +
                   (destroyed.contains(handle) ? " that was destroyed" : " that never was one"));
}

Call::Call(const char* name, bool needs_context)
    : lock_(machine().mutex), status_(machine().enter(name, needs_context)) {}

}  // namespace plumb::stand_in
