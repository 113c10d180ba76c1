// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/limits/padded_layer.hpp"

#include <cstddef>
#include <limits>

namespace plumb::analysis {
namespace {

constexpr std::int64_t kMaxChannels = std::numeric_limits<std::int32_t>::max();

std::int64_t round_up(std::int64_t extent, std::int64_t block) {
  return (extent + block - 1) / block * block;
}

/// Axes of a layer's tensors that hold its channels.
struct ChannelAxes {
  std::size_t input = 0;
  std::size_t weights_in = 0;
  std::size_t weights_out = 0;
  std::size_t result = 0;
};

/// Finds the axes of a convolution without groups, or of a product with one constant matrix.
std::optional<ChannelAxes> find_channels(const model::LayerSpec& spec) {
  if (!spec.has_input(0) || !spec.has_input(1) || spec.outputs.size() != 1) {
    return std::nullopt;
  }
  const model::TensorType& weights = *spec.inputs[1];
  const std::size_t input = spec.inputs[0]->dims.size();
  const std::size_t result = spec.outputs[0].dims.size();
  if (spec.op == "conv") {
    const bool plain =
        spec.integer("group") == 1 && input > 2 && weights.dims.size() == input && result == input;
    return plain ? std::optional(ChannelAxes{1, 1, 0, 1}) : std::nullopt;
  }
  if (!weights.constant || weights.dims.size() != 2 || input == 0 || result == 0) {
    return std::nullopt;
  }
  if (spec.op == "matmul") {
    return ChannelAxes{input - 1, 0, 1, result - 1};
  }
  if (spec.op == "gemm" && input == 2 && result == 2) {
    const std::size_t turned = spec.integer("trans_b") != 0 ? 1 : 0;
    return ChannelAxes{spec.integer("trans_a") != 0 ? 0U : 1U, turned, 1 - turned, 1};
  }
  return std::nullopt;
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
  const std::optional<ChannelAxes> axes = block > 0 ? find_channels(spec) : std::nullopt;
  if (!axes) {
    return std::nullopt;
  }
  const std::int64_t in = spec.inputs[0]->dims[axes->input];
  const std::int64_t out = spec.outputs[0].dims[axes->result];
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
  padded.inputs[0]->dims[axes->input] = padded_in;
  padded.inputs[1]->dims[axes->weights_in] = padded_in;
  padded.inputs[1]->dims[axes->weights_out] = padded_out;
  padded.outputs[0].dims[axes->result] = padded_out;
  for (std::size_t i = 2; i < padded.inputs.size(); ++i) {
    if (!padded.inputs[i]) {
      continue;
    }
    std::vector<std::int64_t>& dims = padded.inputs[i]->dims;
    if (dims.size() == 1 && dims[0] == out) {
      dims[0] = padded_out;  // the bias
    } else if (dims == result) {
      dims[axes->result] = padded_out;  // what a fused addition reads
    } else {
      return std::nullopt;
    }
  }
  return padded;
}

}  // namespace plumb::analysis
