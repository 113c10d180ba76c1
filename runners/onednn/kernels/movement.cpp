// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "runners/onednn/exec/primitive_parts.hpp"
#include "runners/onednn/exec/variant_builder.hpp"
#include "runners/onednn/kernels/builtin_kernel.hpp"
#include "runners/onednn/kernels/windows.hpp"

namespace plumb::onednn {
namespace {

/// Copy of elements whose source position is a sum of one offset for each axis.
///
/// Slice, pad, tile, expand, transpose and nearest resize all have this form. Running it allocates
/// nothing. Thread-safe after construction.
class MappedCopy {
 public:
  static constexpr std::int64_t kFill = INT64_MIN;

  /// Prepares the copy. `offsets[axis][i]` is what index i of an output axis adds to the source
  /// position, in elements. With kFill the element is the fill value, whatever the other axes say.
  MappedCopy(std::vector<std::vector<std::int64_t>> offsets, std::size_t element_bytes);

  /// Sets the element for positions without a source; zero unless set.
  void set_fill(std::vector<std::byte> element);

  void run(const std::byte* source, std::byte* destination) const;

 private:
  void copy_axis(std::size_t axis, const std::byte* source, std::byte*& destination) const;
  void fill(std::size_t bytes, std::byte*& destination) const;

  std::vector<std::vector<std::int64_t>>
      offsets_;                           // in bytes; trailing contiguous axes are one block
  std::vector<std::size_t> inner_bytes_;  // of one step of each axis
  std::size_t block_bytes_;
  std::int64_t base_ = 0;  // bytes that every element's position has in common
  bool empty_ = false;
  std::vector<std::byte> fill_;
};

/// Copies elements or blocks of a size that the compiler knows.
template <std::size_t kBytes>
void copy_blocks(const std::vector<std::int64_t>& offsets,
                 const std::byte* source,
                 std::byte* destination) {
  for (const std::int64_t offset : offsets) {
    std::memcpy(destination, source + offset, kBytes);
    destination += kBytes;
  }
}

bool is_contiguous(const std::vector<std::int64_t>& offsets, std::int64_t step) {
  for (std::size_t index = 0; index < offsets.size(); ++index) {
    if (offsets[index] != static_cast<std::int64_t>(index) * step) {
      return false;
    }
  }
  return true;
}

bool has_fill(const std::vector<std::int64_t>& offsets) {
  return std::find(offsets.begin(), offsets.end(), MappedCopy::kFill) != offsets.end();
}

/// Returns the offsets i·stride of an axis.
[[nodiscard]] std::vector<std::int64_t> strided_offsets(std::int64_t extent, std::int64_t stride) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(extent));
  for (std::size_t index = 0; index < offsets.size(); ++index) {
    offsets[index] = static_cast<std::int64_t>(index) * stride;
  }
  return offsets;
}

MappedCopy::MappedCopy(std::vector<std::vector<std::int64_t>> offsets, std::size_t element_bytes)
    : offsets_(std::move(offsets)), block_bytes_(element_bytes), fill_(element_bytes) {
  for (auto& axis : offsets_) {
    // The offset that all indices share is added only once. Then a part of a dense tensor is
    // recognised as contiguous.
    const std::int64_t shared = axis.empty() || axis.front() == kFill ? 0 : axis.front();
    base_ += shared * static_cast<std::int64_t>(element_bytes);
    for (std::int64_t& offset : axis) {
      offset =
          offset == kFill ? kFill : (offset - shared) * static_cast<std::int64_t>(element_bytes);
    }
  }
  empty_ =
      std::any_of(offsets_.begin(), offsets_.end(), [](const auto& axis) { return axis.empty(); });
  while (!offsets_.empty() &&
         is_contiguous(offsets_.back(), static_cast<std::int64_t>(block_bytes_))) {
    block_bytes_ *= offsets_.back().size();
    offsets_.pop_back();
  }
  inner_bytes_.resize(offsets_.size());
  std::size_t inner = block_bytes_;
  for (std::size_t axis = offsets_.size(); axis-- > 0;) {
    inner_bytes_[axis] = inner;
    inner *= offsets_[axis].size();
  }
}

void MappedCopy::set_fill(std::vector<std::byte> element) {
  fill_ = std::move(element);
}

void MappedCopy::run(const std::byte* source, std::byte* destination) const {
  if (empty_) {
    return;
  }
  source += base_;
  if (offsets_.empty()) {
    std::memcpy(destination, source, block_bytes_);
    return;
  }
  copy_axis(0, source, destination);
}

void MappedCopy::fill(std::size_t bytes, std::byte*& destination) const {
  for (std::size_t done = 0; done < bytes; done += fill_.size()) {
    std::memcpy(destination + done, fill_.data(), fill_.size());
  }
  destination += bytes;
}

void MappedCopy::copy_axis(std::size_t axis,
                           const std::byte* source,
                           std::byte*& destination) const {
  const std::vector<std::int64_t>& offsets = offsets_[axis];
  const bool last = axis + 1 == offsets_.size();
  if (last && (block_bytes_ == 2 || block_bytes_ == 4 || block_bytes_ == 8) && !has_fill(offsets)) {
    if (block_bytes_ == 2) {
      copy_blocks<2>(offsets, source, destination);
    } else if (block_bytes_ == 4) {
      copy_blocks<4>(offsets, source, destination);
    } else {
      copy_blocks<8>(offsets, source, destination);
    }
    destination += block_bytes_ * offsets.size();
    return;
  }
  for (const std::int64_t offset : offsets) {
    if (offset == kFill) {
      fill(inner_bytes_[axis], destination);
    } else if (last) {
      std::memcpy(destination, source + offset, block_bytes_);
      destination += block_bytes_;
    } else {
      copy_axis(axis + 1, source + offset, destination);
    }
  }
}

using Dims = std::vector<std::int64_t>;
using Offsets = std::vector<std::vector<std::int64_t>>;

const model::TensorType& source_of(const model::LayerSpec& spec) {
  return *spec.inputs[0];
}

void add_copy(const model::LayerSpec& spec,
              VariantBuilder::List& list,
              const std::string& name,
              MappedCopy copy) {
  add_own(list, spec, name, [copy = std::move(copy)](const KernelOperands& operands) {
    copy.run(operands.input(0), operands.output(0));
  });
}

/// Makes one offset for each output index of an axis, from an index of the source's axis.
template <typename SourceIndex>
std::vector<std::int64_t> axis_offsets(std::int64_t extent,
                                       std::int64_t source_extent,
                                       std::int64_t stride,
                                       const model::LayerSpec& spec,
                                       SourceIndex source_index) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(extent));
  for (std::size_t index = 0; index < offsets.size(); ++index) {
    const std::int64_t from = source_index(static_cast<std::int64_t>(index));
    require(from == MappedCopy::kFill || (from >= 0 && from < source_extent),
            spec,
            "the output's shape does not follow from the input's and the attributes");
    offsets[index] = from == MappedCopy::kFill ? from : from * stride;
  }
  return offsets;
}

void require_same_rank(const model::LayerSpec& spec) {
  require_operands(spec, 1);
  require(source_of(spec).dims.size() == spec.outputs[0].dims.size(),
          spec,
          "input and output must have one rank");
}

/// Returns the position in the source's axis of a position in the padded axis.
std::int64_t padded_index(const std::string& mode, std::int64_t position, std::int64_t extent) {
  if (position >= 0 && position < extent) {
    return position;
  }
  if (mode == "constant" || extent <= 0) {
    return MappedCopy::kFill;
  }
  if (mode == "edge") {
    return std::clamp<std::int64_t>(position, 0, extent - 1);
  }
  const std::int64_t period = mode == "wrap" ? extent : std::max<std::int64_t>(2 * (extent - 1), 1);
  const std::int64_t inside = ((position % period) + period) % period;
  return inside < extent ? inside : period - inside;
}

}  // namespace

void copy_slice(const model::LayerSpec& spec,
                const Device& /*device*/,
                VariantBuilder::List& list) {
  require_same_rank(spec);
  const Dims& x = source_of(spec).dims;
  const Dims& y = spec.outputs[0].dims;
  const Dims strides = dense_strides(x);
  const Dims& axes = spec.integers("axes");
  const Dims& starts = spec.integers("starts");
  const Dims& steps = spec.integers("steps");
  require(starts.size() == axes.size() && steps.size() == axes.size(),
          spec,
          "axes, starts and steps differ in length");
  Dims start(x.size(), 0);
  Dims step(x.size(), 1);
  for (std::size_t index = 0; index < axes.size(); ++index) {
    require(axes[index] >= 0 && axes[index] < static_cast<std::int64_t>(x.size()),
            spec,
            "an axis is out of range");
    start[static_cast<std::size_t>(axes[index])] = starts[index];
    step[static_cast<std::size_t>(axes[index])] = steps[index];
  }
  Offsets offsets;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    offsets.push_back(axis_offsets(y[axis], x[axis], strides[axis], spec, [&](std::int64_t i) {
      return start[axis] + i * step[axis];
    }));
  }
  add_copy(spec, list, "slice", MappedCopy(std::move(offsets), moved_element_bytes(spec)));
}

void copy_pad(const model::LayerSpec& spec, const Device& /*device*/, VariantBuilder::List& list) {
  require_same_rank(spec);
  const model::TensorType& x = source_of(spec);
  const Dims& y = spec.outputs[0].dims;
  const Dims strides = dense_strides(x.dims);
  const Dims& pads = spec.integers("pads");
  const std::string& mode = spec.text("mode");
  require(pads.size() == 2 * x.dims.size(), spec, "pads need two numbers for each dimension");
  Offsets offsets;
  for (std::size_t axis = 0; axis < x.dims.size(); ++axis) {
    require(y[axis] == pads[axis] + x.dims[axis] + pads[axis + x.dims.size()],
            spec,
            "shapes and pads disagree");
    offsets.push_back(axis_offsets(y[axis], x.dims[axis], strides[axis], spec, [&](std::int64_t i) {
      return padded_index(mode, i - pads[axis], x.dims[axis]);
    }));
  }
  MappedCopy copy(std::move(offsets), moved_element_bytes(spec));
  std::vector<std::byte> fill(moved_element_bytes(spec));
  const double value = spec.real("value");
  store(x.dtype, &value, 1, fill.data());
  copy.set_fill(std::move(fill));
  add_copy(spec, list, "pad", std::move(copy));
}

void copy_expand(const model::LayerSpec& spec,
                 const Device& /*device*/,
                 VariantBuilder::List& list) {
  require_operands(spec, 1);
  const Dims& y = spec.outputs[0].dims;
  require(source_of(spec).dims.size() <= y.size(),
          spec,
          "the output has fewer dimensions than the input");
  const Dims x = padded_to_rank(source_of(spec).dims, y.size());
  const Dims strides = dense_strides(x);
  Offsets offsets;
  for (std::size_t axis = 0; axis < y.size(); ++axis) {
    require(x[axis] == y[axis] || x[axis] == 1, spec, "the input does not broadcast to the output");
    offsets.push_back(axis_offsets(y[axis], x[axis], strides[axis], spec, [&](std::int64_t i) {
      return x[axis] == 1 ? 0 : i;
    }));
  }
  add_copy(spec, list, "expand", MappedCopy(std::move(offsets), moved_element_bytes(spec)));
}

void copy_tile(const model::LayerSpec& spec, const Device& /*device*/, VariantBuilder::List& list) {
  require_same_rank(spec);
  const Dims& x = source_of(spec).dims;
  const Dims& y = spec.outputs[0].dims;
  const Dims strides = dense_strides(x);
  Offsets offsets;
  for (std::size_t axis = 0; axis < y.size(); ++axis) {
    require(y[axis] == 0 || x[axis] > 0, spec, "there are no elements to repeat");
    offsets.push_back(axis_offsets(
        y[axis], x[axis], strides[axis], spec, [&](std::int64_t i) { return i % x[axis]; }));
  }
  add_copy(spec, list, "tile", MappedCopy(std::move(offsets), moved_element_bytes(spec)));
}

void copy_transpose(const model::LayerSpec& spec,
                    const Device& /*device*/,
                    VariantBuilder::List& list) {
  require_same_rank(spec);
  const Dims& x = source_of(spec).dims;
  const Dims& y = spec.outputs[0].dims;
  const Dims& perm = spec.integers("perm");
  const Dims strides = dense_strides(x);
  require(perm.size() == x.size(), spec, "perm must name every axis");
  Offsets offsets;
  for (std::size_t axis = 0; axis < y.size(); ++axis) {
    require(perm[axis] >= 0 && perm[axis] < static_cast<std::int64_t>(x.size()),
            spec,
            "perm is out of range");
    const auto from = static_cast<std::size_t>(perm[axis]);
    offsets.push_back(
        axis_offsets(y[axis], x[from], strides[from], spec, [](std::int64_t i) { return i; }));
  }
  add_copy(spec, list, "transpose", MappedCopy(std::move(offsets), moved_element_bytes(spec)));
}

/// Adds depth_to_space or space_to_depth. Both are transpositions of six axes: batch, block rows,
/// block columns, channels, rows and columns.
void copy_blocks_of_space(const model::LayerSpec& spec,
                          const Device& /*device*/,
                          VariantBuilder::List& list) {
  require_same_rank(spec);
  const Dims& x = source_of(spec).dims;
  const Dims& y = spec.outputs[0].dims;
  const std::int64_t block = spec.integer("block");
  require(x.size() == 4 && block > 0, spec, "needs four dimensions and a positive block");
  const bool to_space = spec.op == "depth_to_space";
  const Dims& small = to_space ? x : y;  // the shape with many channels
  const Dims& large = to_space ? y : x;
  require(small[0] == large[0] && small[1] == large[1] * block * block &&
              large[2] == small[2] * block && large[3] == small[3] * block,
          spec,
          "shapes and block disagree");
  const Dims in = dense_strides(x);
  Offsets offsets{strided_offsets(y[0], in[0])};
  if (to_space) {
    // y[n, c, h·b+i, w·b+j] = x[n, channel(c, i, j), h, w]
    const bool depth_first = spec.text("mode") == "dcr";
    const std::int64_t per_channel = depth_first ? in[1] : in[1] * block * block;
    const std::int64_t per_row = depth_first ? in[1] * block * y[1] : in[1] * block;
    const std::int64_t per_column = depth_first ? in[1] * y[1] : in[1];
    offsets.push_back(strided_offsets(y[1], per_channel));
    offsets.push_back(strided_offsets(x[2], in[2]));
    offsets.push_back(strided_offsets(block, per_row));
    offsets.push_back(strided_offsets(x[3], in[3]));
    offsets.push_back(strided_offsets(block, per_column));
  } else {
    // y[n, (i·b+j)·C+c, h, w] = x[n, c, h·b+i, w·b+j]
    offsets.push_back(strided_offsets(block, in[2]));
    offsets.push_back(strided_offsets(block, in[3]));
    offsets.push_back(strided_offsets(x[1], in[1]));
    offsets.push_back(strided_offsets(y[2], in[2] * block));
    offsets.push_back(strided_offsets(y[3], in[3] * block));
  }
  add_copy(spec, list, spec.op, MappedCopy(std::move(offsets), moved_element_bytes(spec)));
}

void copy_nearest(const model::LayerSpec& spec,
                  const Device& /*device*/,
                  VariantBuilder::List& list) {
  require_same_rank(spec);
  const Dims& x = source_of(spec).dims;
  const Dims& y = spec.outputs[0].dims;
  const Dims strides = dense_strides(x);
  Offsets offsets;
  for (std::size_t axis = 0; axis < y.size(); ++axis) {
    offsets.push_back(axis_offsets(y[axis],
                                   x[axis],
                                   strides[axis],
                                   spec,
                                   [&, indices = nearest_indices(spec, axis)](std::int64_t i) {
                                     return indices[static_cast<std::size_t>(i)];
                                   }));
  }
  add_copy(spec, list, "resize", MappedCopy(std::move(offsets), moved_element_bytes(spec)));
}

void copy_split(const model::LayerSpec& spec,
                const Device& /*device*/,
                VariantBuilder::List& list) {
  require(spec.has_input(0) && !spec.outputs.empty(),
          spec,
          "needs one operand and at least one output");
  const Dims& x = spec.inputs[0].value().dims;
  const Dims strides = dense_strides(x);
  const std::int64_t along = spec.integer("axis");
  const std::size_t bytes = moved_element_bytes(spec);
  std::int64_t start = 0;
  std::vector<std::pair<MappedCopy, std::size_t>>
      copies;  // with the bytes before its part of the source
  for (const model::TensorType& output : spec.outputs) {
    require(output.dims.size() == x.size() && output.dtype == spec.inputs[0].value().dtype &&
                along >= 0 && along < static_cast<std::int64_t>(x.size()),
            spec,
            "outputs do not fit the input");
    Offsets offsets;
    for (std::size_t axis = 0; axis < x.size(); ++axis) {
      const std::int64_t first = static_cast<std::int64_t>(axis) == along ? start : 0;
      require(first + output.dims[axis] <= x[axis], spec, "outputs do not fit the input");
      offsets.push_back(strided_offsets(output.dims[axis], strides[axis]));
    }
    const auto axis = static_cast<std::size_t>(along);
    copies.emplace_back(MappedCopy(std::move(offsets), bytes),
                        static_cast<std::size_t>(start * strides[axis]) * bytes);
    start += output.dims[axis];
  }
  add_own(list, spec, "split", [copies = std::move(copies)](const KernelOperands& operands) {
    for (std::size_t index = 0; index < copies.size(); ++index) {
      copies[index].first.run(operands.input(0) + copies[index].second, operands.output(index));
    }
  });
}

void copy_concat(const model::LayerSpec& spec,
                 const Device& /*device*/,
                 VariantBuilder::List& list) {
  require_operands(spec, spec.inputs.size());
  const model::TensorType& y = spec.outputs[0];
  const std::int64_t along = spec.integer("axis");
  require(along >= 0 && along < static_cast<std::int64_t>(y.dims.size()),
          spec,
          "the axis is out of range");
  const auto axis = static_cast<std::size_t>(along);
  const auto bytes = static_cast<std::int64_t>(moved_element_bytes(spec));
  const std::int64_t inner = dense_strides(y.dims)[axis] * bytes;
  std::int64_t outer = 1;
  for (std::size_t dim = 0; dim < axis; ++dim) {
    outer *= y.dims[dim];
  }
  std::vector<std::size_t> chunks;  // bytes that each operand gives at a time
  std::int64_t total = 0;
  for (const auto& operand : spec.inputs) {
    Dims expected = y.dims;
    require(operand->dims.size() == expected.size() && operand->dtype == y.dtype,
            spec,
            "operands do not fit");
    expected[axis] = operand->dims[axis];
    require(operand->dims == expected, spec, "operands do not fit");
    total += operand->dims[axis];
    chunks.push_back(static_cast<std::size_t>(operand->dims[axis] * inner));
  }
  require(total == y.dims[axis], spec, "the output's extent is not the sum of the operands'");
  const bool empty = element_count(y) == 0;
  add_own(list, spec, "concat", [=, chunks = std::move(chunks)](const KernelOperands& operands) {
    std::byte* destination = operands.output(0);
    for (std::int64_t batch = 0; batch < (empty ? 0 : outer); ++batch) {
      for (std::size_t index = 0; index < chunks.size(); ++index) {
        std::memcpy(destination,
                    operands.input(index) + static_cast<std::size_t>(batch) * chunks[index],
                    chunks[index]);
        destination += chunks[index];
      }
    }
  });
}

}  // namespace plumb::onednn
