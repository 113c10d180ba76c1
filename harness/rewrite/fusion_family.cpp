// SPDX-License-Identifier: Apache-2.0
#include "harness/rewrite/fusion_family.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/model/key/op_schema.hpp"

namespace plumb::rewrite {
namespace {

// No two of them share a match, so their savings add up but for what overlaps. Forward, a product
// takes GELU along only where no gradient reads what lies between, as in front of all trained
// weights.
constexpr std::array kFamilies = std::to_array<FusionFamily>({
    {"conv_relu_backward", "conv_activation_gradient", "relu_backward"},
    {"fused_optimizer", "update", ""},
    {"gemm_bias", "matmul_add|bias_gradient", "add"},
    {"gemm_gelu",
     "gemm_activation|matmul_activation|matmul_add_activation|gelu|gemm_activation_gradient|"
     "matmul_activation_gradient",
     "add|gelu_erf|gelu_tanh|gelu_erf_backward|gelu_tanh_backward"},
    {"gemm_relu",
     "gemm_activation|matmul_activation|matmul_add_activation|gemm_activation_gradient|"
     "matmul_activation_gradient",
     "add|relu|relu_backward"},
});

}  // namespace

bool FusionFamily::contains(const Match& match) const {
  const std::vector<model::Epilogue>& steps = match.spec.epilogue;
  return std::all_of(steps.begin(), steps.end(), [this](const model::Epilogue& step) {
    return model::is_one_of(functions, step.fn);
  });
}

std::span<const FusionFamily> fusion_families() {
  return kFamilies;
}

const FusionFamily& find_fusion_family(std::string_view name) {
  const auto* const found =
      std::find_if(kFamilies.begin(), kFamilies.end(), [name](const FusionFamily& family) {
        return family.name == name;
      });
  PLUMB_CHECK(found != kFamilies.end());
  return *found;
}

}  // namespace plumb::rewrite
