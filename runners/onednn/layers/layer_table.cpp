// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <utility>

#include "runners/onednn/layers/layers.hpp"

namespace plumb::onednn {
namespace {

constexpr std::array<LayerFamily, 13> kFamilies{{
    {"conv", offer_convolution, nullptr},
    {"conv_transpose", offer_deconvolution, nullptr},
    {"gemm", offer_gemm, nullptr},
    {"matmul", offer_matmul, nullptr},
    {"batch_norm", offer_batch_norm, nullptr},
    {"lrn", offer_lrn, nullptr},
    {"max_pool", offer_max_pool, nullptr},
    {"average_pool", offer_average_pool, nullptr},
    {"eltwise", offer_eltwise, nullptr},
    {"prelu", offer_prelu, nullptr},
    {"binary", offer_binary, nullptr},
    {"sum", offer_sum, nullptr},
    {"softmax", offer_softmax, nullptr},
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
    if (list.empty()) {
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
