// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/kernels/broadcast_rows.hpp"

#include "runners/onednn/exec/descriptor.hpp"
#include "runners/onednn/kernels/builtin_kernel.hpp"

namespace plumb::onednn {

BroadcastRows::BroadcastRows(const model::LayerSpec& spec, std::size_t operands) {
  require_operands(spec, operands);
  const std::vector<std::int64_t> result = padded_to_rank(spec.outputs[0].dims, 1);
  const std::size_t last = result.size() - 1;
  extents_.assign(result.begin(), result.end() - 1);
  strides_.resize(last);
  length_ = static_cast<std::size_t>(result[last]);
  for (std::size_t operand = 0; operand < operands; ++operand) {
    const auto& own = spec.inputs[operand]->dims;
    require(own.size() <= result.size(), spec, "an operand has more dimensions than the output");
    const auto dims = padded_to_rank(own, result.size());
    const auto strides = dense_strides(dims);
    for (std::size_t axis = 0; axis <= last; ++axis) {
      require(dims[axis] == result[axis] || dims[axis] == 1,
              spec,
              "operands do not broadcast to the output");
      const std::size_t step = dims[axis] == 1 ? 0 : static_cast<std::size_t>(strides[axis]);
      (axis == last ? last_[operand] : strides_[axis][operand]) = step;
    }
  }
}

}  // namespace plumb::onednn
