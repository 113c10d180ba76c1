// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/exec/kernel_launch.hpp"

#include <fmt/format.h>

namespace plumb::cuda {

std::string entry_text(const KernelLaunch& launch, const std::string& name) {
  return fmt::format(
      "extern \"C\" __global__ void {}(plumb::cuda::kernels::Addresses<{}> operands, "
      "plumb::cuda::kernels::{} shape) {{\n"
      "  using namespace plumb::cuda::kernels;\n"
      "  {}(operands, shape);\n}}\n",
      name,
      launch.addresses,
      launch.shape_type,
      launch.call);
}

engine::StepBuffers buffers_of(const KernelLaunch& launch,
                               const std::vector<std::size_t>& buffers) {
  engine::StepBuffers result;
  for (std::size_t i = 0; i < launch.operands.size(); ++i) {
    const std::size_t buffer = buffers.at(launch.operands[i]);
    if (i < launch.outputs) {
      result.writes.push_back(buffer);
    }
    if (i < launch.updated || i >= launch.outputs) {
      result.reads.push_back(buffer);
    }
  }
  return result;
}

std::string kernel_name(const KernelLaunch& launch) {
  constexpr std::size_t kLongest = 128;
  std::string name = "plumb";
  bool apart = true;
  for (const char character : launch.call) {
    const bool plain = (character >= 'a' && character <= 'z') ||
                       (character >= 'A' && character <= 'Z') ||
                       (character >= '0' && character <= '9');
    if (plain && name.size() + 2 <= kLongest) {
      name += apart ? "_" : "";
      name += character;
    }
    apart = !plain;
  }
  return name;
}

}  // namespace plumb::cuda
