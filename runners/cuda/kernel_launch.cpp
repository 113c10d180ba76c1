// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/kernel_launch.hpp"

#include <fmt/format.h>

namespace plumb::cuda {

std::string entry_text(const KernelLaunch& launch, const std::string& name) {
  return fmt::format(
      "extern \"C\" __global__ void {}(plumb::cuda::kernels::Operands operands, "
      "plumb::cuda::kernels::{} shape) {{\n"
      "  using namespace plumb::cuda::kernels;\n"
      "  {}(operands, shape);\n}}\n",
      name,
      launch.shape_type,
      launch.call);
}

}  // namespace plumb::cuda
