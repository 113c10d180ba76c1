// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/exec/execution_plan.hpp"

#include <algorithm>

namespace plumb::cuda {

Bytes memory_needed(const ExecutionPlan& plan) {
  const std::size_t streams =
      plan.streams.empty() ? 1 : *std::max_element(plan.streams.begin(), plan.streams.end()) + 1;
  std::size_t bytes = plan.workspace_bytes * streams + plan.arena_bytes;
  for (const DeviceBuffer& buffer : plan.buffers) {
    bytes += buffer.arena ? 0 : buffer.bytes;
  }
  return Bytes{static_cast<std::int64_t>(bytes)};
}

DeviceStep mapped(const DeviceStep& step, const std::vector<std::size_t>& map) {
  DeviceStep result;
  result.buffers = engine::mapped(step.buffers, map);
  result.bind = [bind = step.bind, map](std::span<const abi::DevicePointer> buffers,
                                        abi::DevicePointer workspace) {
    std::vector<abi::DevicePointer> own;
    own.reserve(map.size());
    for (const std::size_t buffer : map) {
      own.push_back(buffers[buffer]);
    }
    return bind(own, workspace);
  };
  return result;
}

}  // namespace plumb::cuda
