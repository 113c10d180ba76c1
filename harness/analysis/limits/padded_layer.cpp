// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/limits/padded_layer.hpp"

#include <cstddef>
#include <limits>

namespace plumb::analysis {
namespace {

constexpr std::size_t kChannelAxis = 1;  // of images; of weights: input channels
constexpr std::int64_t kMaxChannels = std::numeric_limits<std::int32_t>::max();

std::int64_t round_up(std::int64_t extent, std::int64_t block) {
  return (extent + block - 1) / block * block;
}

/// Returns whether a convolution has images and weights of the ranks that padding knows.
bool is_plain_convolution(const model::LayerSpec& spec) {
  return spec.op == "conv" && spec.integer("group") == 1 && spec.has_input(0) &&
         spec.has_input(1) && spec.outputs.size() == 1 && spec.inputs[0]->dims.size() > 2 &&
         spec.inputs[1]->dims.size() == spec.inputs[0]->dims.size() &&
         spec.outputs[0].dims.size() == spec.inputs[0]->dims.size();
}

}  // namespace

std::optional<std::int64_t> channels_per_block(std::string_view variant) {
  constexpr std::int64_t kAvx512 = 16;
  constexpr std::int64_t kAvx = 8;
  if (variant.find("avx512") != std::string_view::npos) {
    return kAvx512;
  }
  return variant.find("avx") != std::string_view::npos ? std::optional(kAvx) : std::nullopt;
}

std::optional<model::LayerSpec> padded_layer(const model::LayerSpec& spec, std::int64_t block) {
  if (block <= 0 || !is_plain_convolution(spec)) {
    return std::nullopt;
  }
  const std::int64_t in = spec.inputs[0]->dims[kChannelAxis];
  const std::int64_t out = spec.outputs[0].dims[kChannelAxis];
  if (in > kMaxChannels || out > kMaxChannels) {
    return std::nullopt;
  }
  const std::int64_t padded_in = in < block ? in : round_up(in, block);
  const std::int64_t padded_out = round_up(out, block);
  if (padded_in == in && padded_out == out) {
    return std::nullopt;
  }
  model::LayerSpec padded = spec;
  const std::vector<std::int64_t> result = spec.outputs[0].dims;
  padded.inputs[0]->dims[kChannelAxis] = padded_in;
  padded.inputs[1]->dims[0] = padded_out;
  padded.inputs[1]->dims[kChannelAxis] = padded_in;
  padded.outputs[0].dims[kChannelAxis] = padded_out;
  for (std::size_t i = 2; i < padded.inputs.size(); ++i) {
    if (!padded.inputs[i]) {
      continue;
    }
    std::vector<std::int64_t>& dims = padded.inputs[i]->dims;
    if (dims.size() == 1 && dims[0] == out) {
      dims[0] = padded_out;  // the bias
    } else if (dims == result) {
      dims[kChannelAxis] = padded_out;  // what a fused addition reads
    } else {
      return std::nullopt;
    }
  }
  return padded;
}

}  // namespace plumb::analysis
