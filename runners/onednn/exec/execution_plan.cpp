// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/exec/execution_plan.hpp"

namespace plumb::onednn {

Step mapped(const Step& step, const std::vector<std::size_t>& map) {
  if (const auto* kernel = std::get_if<KernelStep>(&step)) {
    return KernelStep([kernel = *kernel, map, own = std::vector<std::byte*>(map.size())](
                          std::span<std::byte* const> buffers) mutable {
      for (std::size_t i = 0; i < map.size(); ++i) {
        own[i] = buffers[map[i]];
      }
      kernel(own);
    });
  }
  auto primitive = std::get<PrimitiveStep>(step);
  for (PrimitiveStep::Argument& argument : primitive.arguments) {
    argument.buffer = map[argument.buffer];
  }
  return primitive;
}

}  // namespace plumb::onednn
