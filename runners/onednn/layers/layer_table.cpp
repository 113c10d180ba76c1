// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <utility>

#include "runners/onednn/layers/layers.hpp"

namespace plumb::onednn {
namespace {

// The library's ways, and our own kernel for where it has none or only reference code.
constexpr std::array<LayerFamily, 34> kFamilies{{
    {"conv", offer_convolution, nullptr},
    {"conv_transpose", offer_deconvolution, nullptr},
    {"gemm", offer_gemm, nullptr},
    {"matmul", offer_matmul, nullptr},
    {"batch_norm", offer_batch_norm, normalize_batch},
    {"layer_norm", offer_layer_norm, normalize_layers},
    {"rms_norm", nullptr, normalize_layers},
    {"instance_norm", nullptr, normalize_groups},
    {"group_norm", nullptr, normalize_groups},
    {"lrn", offer_lrn, normalize_response},
    {"max_pool", offer_max_pool, pool_max},
    {"average_pool", offer_average_pool, pool_average},
    {"lp_pool", nullptr, pool_power},
    {"eltwise", offer_eltwise, apply_eltwise},
    {"prelu", offer_prelu, nullptr},
    {"binary", offer_binary, apply_binary},
    {"sum", offer_sum, apply_sum},
    {"softmax", offer_softmax, nullptr},
    {"concat", offer_concat, copy_concat},
    {"split", offer_split, copy_split},
    {"slice", offer_slice, copy_slice},
    {"pad", nullptr, copy_pad},
    {"transpose", offer_transpose, copy_transpose},
    {"view", offer_view, nullptr},
    {"gather", nullptr, gather_rows},
    {"resize", offer_resampling, interpolate_resize},
    {"reduce", offer_reduction, fold_reduce},
    {"arg_reduce", nullptr, find_extreme},
    {"where", nullptr, select_where},
    {"cast", offer_cast, apply_cast},
    {"expand", nullptr, copy_expand},
    {"tile", nullptr, copy_tile},
    {"depth_to_space", nullptr, copy_blocks_of_space},
    {"space_to_depth", nullptr, copy_blocks_of_space},
}};

/// Runs one column of the table; returns why it has nothing, or an empty text.
std::string collect(OfferFunction function,
                    const LayerSpec& spec,
                    const Device& device,
                    OfferList& list) {
  if (function == nullptr) {
    return {};
  }
  try {
    function(spec, device, list);
    return list.empty() ? list.refusal() : std::string();
  } catch (const Unsupported& refusal) {
    return refusal.what();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) {
      throw std::bad_alloc();
    }
    return status_text(error.status);
  }
}

void check_dense(const LayerSpec& spec) {
  for (const auto& operand : spec.inputs) {
    if (operand && !operand->strides.empty()) {
      throw Unsupported("this backend takes dense operands only");
    }
  }
}

}  // namespace

std::span<const LayerFamily> layer_families() {
  return kFamilies;
}

OfferList offers_of(const LayerSpec& spec, const Device& device) {
  check_dense(spec);
  for (const LayerFamily& family : kFamilies) {
    if (family.op != spec.op) {
      continue;
    }
    OfferList list;
    std::string reason = collect(family.library, spec, device, list);
    if (list.only_references()) {
      const std::string own = collect(family.own, spec, device, list);
      reason += (reason.empty() || own.empty() ? "" : "; ") + own;
    }
    if (list.empty()) {
      throw Unsupported(fmt::format("{}: {}", spec.op, reason));
    }
    return list;
  }
  throw Unsupported(fmt::format("this backend has no operator '{}'", spec.op));
}

}  // namespace plumb::onednn
