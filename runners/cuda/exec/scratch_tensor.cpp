// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/exec/scratch_tensor.hpp"

#include <numeric>

#include "runners/cuda/exec/kernel_launch.hpp"

namespace plumb::cuda {

std::size_t add_scratch(ExecutionPlan& plan, const ScratchTensor& made) {
  DeviceBuffer& buffer = plan.buffers.emplace_back();
  buffer.role = DeviceBuffer::Role::kIntermediate;
  buffer.weight = made.weight;
  buffer.type = made.type;
  buffer.layout = made.layout;
  buffer.bytes = static_cast<std::size_t>(model::byte_size(made.type).value);
  return plan.buffers.size() - 1;
}

void append_launches(std::vector<DeviceStep>& steps,
                     const std::vector<KernelLaunch>& launches,
                     const ExecutionPlan& plan,
                     const KernelStep& kernel) {
  std::vector<std::size_t> same(plan.buffers.size());
  std::iota(same.begin(), same.end(), 0U);
  for (const KernelLaunch& launch : launches) {
    steps.push_back(kernel(launch, same));
  }
}

}  // namespace plumb::cuda
