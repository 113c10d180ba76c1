// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/cuda_driver/memory_map.hpp"

namespace plumb::stand_in {

/// Kinds of work. The scripted clock has one duration for each.
enum class WorkKind { kKernel, kCopy, kSet, kEvent, kGraph };
/// Durations of the scripted clock: of each kind of work, and of putting a kernel into a stream.
inline constexpr std::size_t kDurations = 6;
inline constexpr std::size_t kEagerLaunch = 5;

struct KernelFunction;
struct Event;

/// One launch of a kernel, with a copy of its parameters.
struct Launch {
  const KernelFunction* function = nullptr;
  std::array<unsigned, 3> grid{1, 1, 1};
  std::array<unsigned, 3> block{1, 1, 1};
  unsigned dynamic_shared = 0;
  std::vector<std::vector<std::byte>> values;
  std::vector<void*> pointers;  ///< to the values
};

/// One piece of work, as a stream gets it or a graph's node keeps it. `run` reads and writes the
/// device's memory, notes what it touches, and returns a status.
struct Operation {
  WorkKind kind = WorkKind::kEvent;
  std::string name;
  std::function<int(AccessLog&)> run;
  std::shared_ptr<Launch> launch;  ///< of a kernel of a module
  /// Page-locked memory that a copy uses, which the program must not touch meanwhile.
  const void* host = nullptr;
  bool writes_host = false;
  Event* event = nullptr;  ///< that a node of a graph records; events are never freed
};

}  // namespace plumb::stand_in
