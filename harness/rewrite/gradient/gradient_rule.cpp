// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/gradient/gradient_rule.hpp"

#include <algorithm>
#include <array>

namespace plumb::rewrite {
namespace {

struct Row {
  std::string_view op;
  GradientRule rule;
};

constexpr std::array kRules = std::to_array<Row>({
    {"attention", attention_gradient},
    {"average_pool", average_pool_gradient},
    {"batch_norm", batch_norm_gradient},
    {"batch_norm_training", batch_norm_training_gradient},
    {"binary", binary_gradient},
    {"cast", cast_gradient},
    {"concat", concat_gradient},
    {"conv", convolution_gradient},
    {"conv_transpose", transposed_convolution_gradient},
    {"depth_to_space", depth_to_space_gradient},
    {"eltwise", eltwise_gradient},
    {"expand", expand_gradient},
    {"gather", gather_gradient},
    {"gemm", gemm_gradient},
    {"group_norm", group_norm_gradient},
    {"instance_norm", instance_norm_gradient},
    {"layer_norm", layer_norm_gradient},
    {"lrn", lrn_gradient},
    {"matmul", matmul_gradient},
    {"max", extremum_gradient},
    {"max_pool", max_pool_gradient},
    {"min", extremum_gradient},
    {"pad", pad_gradient},
    {"prelu", prelu_gradient},
    {"reduce", reduce_gradient},
    {"resize", resize_gradient},
    {"rms_norm", rms_norm_gradient},
    {"slice", slice_gradient},
    {"softmax", softmax_gradient},
    {"space_to_depth", space_to_depth_gradient},
    {"split", split_gradient},
    {"sum", sum_gradient},
    {"tile", tile_gradient},
    {"transpose", transpose_gradient},
    {"view", view_gradient},
    {"where", where_gradient},
});

}  // namespace

GradientRule find_gradient_rule(std::string_view op) {
  const auto* const found =
      std::find_if(kRules.begin(), kRules.end(), [&](const Row& row) { return row.op == op; });
  return found == kRules.end() ? nullptr : found->rule;
}

}  // namespace plumb::rewrite
