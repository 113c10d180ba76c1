// SPDX-License-Identifier: Apache-2.0
#include "runners/onednn/exec/descriptor.hpp"

#include <fmt/format.h>

#include <utility>

namespace plumb::onednn {
namespace {

using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

void check_rank(const Dims& dims) {
  if (dims.size() > DNNL_MAX_NDIMS) {
    throw Unsupported(
        fmt::format("oneDNN takes {} dimensions at most, not {}", DNNL_MAX_NDIMS, dims.size()));
  }
}

Tag blocked_tag(std::size_t rank, bool sixteen) {
  switch (rank) {
    case 3:
      return sixteen ? Tag::aBc16b : Tag::aBc8b;
    case 4:
      return sixteen ? Tag::aBcd16b : Tag::aBcd8b;
    default:
      return sixteen ? Tag::aBcde16b : Tag::aBcde8b;
  }
}

dnnl::memory::desc channels_last(model::DataType type, const Dims& dims) {
  Dims strides(dims.size());
  dnnl::memory::dim next = 1;
  strides[1] = next;
  next *= dims[1];
  for (std::size_t axis = dims.size() - 1; axis > 1; --axis) {
    strides[axis] = next;
    next *= dims[axis];
  }
  strides[0] = next;
  return {dims, library_type(type), strides};
}

}  // namespace

std::string to_text(Layout layout) {
  switch (layout) {
    case Layout::kAny:
      return "any";
    case Layout::kPlain:
      return "plain";
    case Layout::kChannelsLast:
      return "channels_last";
    case Layout::kBlocked16:
      return "blocked16";
    case Layout::kBlocked8:
      return "blocked8";
  }
  return "unknown";
}

dnnl::memory::data_type library_type(model::DataType type) {
  using LibraryType = dnnl::memory::data_type;
  switch (type) {
    case model::DataType::kF32:
      return LibraryType::f32;
    case model::DataType::kBf16:
      return LibraryType::bf16;
    case model::DataType::kF16:
      return LibraryType::f16;
    case model::DataType::kS32:
      return LibraryType::s32;
    case model::DataType::kS8:
      return LibraryType::s8;
    case model::DataType::kU8:
    case model::DataType::kBool:
      return LibraryType::u8;
    default:
      throw Unsupported(
          fmt::format("oneDNN has no element type {} on a CPU", model::to_text(type)));
  }
}

Dims dense_strides(const Dims& dims) {
  Dims strides(dims.size());
  dnnl::memory::dim next = 1;
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    strides[axis] = next;
    next *= dims[axis] > 0 ? dims[axis] : 1;
  }
  return strides;
}

dnnl::memory::desc dense(model::DataType type, const Dims& dims) {
  if (dims.empty()) {
    return dense(type, Dims{1});
  }
  check_rank(dims);
  return {dims, library_type(type), dense_strides(dims)};
}

dnnl::memory::desc dense(const model::TensorType& type) {
  return dense(type.dtype, type.dims);
}

dnnl::memory::desc any(model::DataType type, const Dims& dims) {
  check_rank(dims);
  return {dims, library_type(type), Tag::any};
}

dnnl::memory::desc activation(model::DataType type, const Dims& dims, Layout layout) {
  switch (layout) {
    case Layout::kAny:
      return any(type, dims);
    case Layout::kChannelsLast:
      check_rank(dims);
      return dims.size() > 2 ? channels_last(type, dims) : dense(type, dims);
    case Layout::kBlocked16:
    case Layout::kBlocked8:
      return {dims, library_type(type), blocked_tag(dims.size(), layout == Layout::kBlocked16)};
    case Layout::kPlain:
      break;
  }
  return dense(type, dims);
}

std::vector<Layout> given_layouts(std::size_t rank) {
  if (rank < 3 || rank > 5) {
    return {Layout::kPlain};
  }
  return {Layout::kPlain, Layout::kBlocked16, Layout::kBlocked8, Layout::kChannelsLast};
}

Dims padded_to_rank(const std::vector<std::int64_t>& dims, std::size_t rank) {
  Dims padded(rank > dims.size() ? rank - dims.size() : 0, 1);
  padded.insert(padded.end(), dims.begin(), dims.end());
  return padded;
}

Argument input(const model::LayerSpec& spec,
               int index,
               std::size_t operand,
               dnnl::memory::desc view) {
  return {index,
          Buffer::Role::kInput,
          operand,
          spec.inputs.at(operand).value().constant,
          std::move(view)};
}

Argument output(int index, std::size_t operand, dnnl::memory::desc view) {
  return {index, Buffer::Role::kOutput, operand, false, std::move(view)};
}

}  // namespace plumb::onednn
