// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/layer_offers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "harness/model/gradient_layer.hpp"
#include "harness/model/quantized_product.hpp"
#include "harness/model/recurrent_shape.hpp"
#include "runners/cuda/attention_offers.hpp"
#include "runners/cuda/blas_offers.hpp"
#include "runners/cuda/convolution_offers.hpp"
#include "runners/cuda/gemm_offers.hpp"
#include "runners/cuda/index_space.hpp"
#include "runners/cuda/integer_offers.hpp"
#include "runners/cuda/legacy_offers.hpp"
#include "runners/cuda/norm_offers.hpp"
#include "runners/cuda/own/own_layer.hpp"
#include "runners/cuda/own_step.hpp"
#include "runners/cuda/recurrent_offers.hpp"
#include "runners/cuda/tensor_core_use.hpp"

namespace plumb::cuda {
namespace {

/// Bounds what is asked for, so that sums and products of extents do not overflow behind.
void check_numbers(const LayerSpec& spec) {
  static constexpr std::int64_t kMost = std::int64_t{1} << 31;
  const auto check = [](const TensorType& type) {
    static_cast<void>(element_count(type));
    for (const std::int64_t extent : type.dims) {
      if (extent > kMost) {
        throw Unsupported(fmt::format("the extent {} is beyond {}", extent, kMost));
      }
    }
  };
  for (const auto& operand : spec.inputs) {
    check(operand.value_or(TensorType{}));
  }
  for (const TensorType& result : spec.outputs) {
    check(result);
  }
}

/// Lists our own kernels for a layer, in each layout that it can have.
std::vector<DeviceOffer> own_offers(const LayerSpec& spec, KernelLibrary& kernels) {
  std::vector<DeviceOffer> offers;
  std::string refusal;
  for (const TensorLayout layout : {TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast}) {
    const bool has_channels =
        spec.outputs.at(0).dims.size() >= 3 && has_own_kernel(spec.op, layout);
    if (layout == TensorLayout::kChannelsLast && !has_channels) {
      continue;
    }
    try {
      OwnLayer layer = own_layer(spec, layout);
      DeviceOffer offer;
      offer.text = fmt::format("impl=plumb:{};layout={}", spec.op, to_text(layout));
      offer.attributes = own_kernel_attributes();
      offer.inputs = layer.inputs;
      offer.outputs = layer.outputs;
      offer.build = [spec, layer = std::move(layer), &kernels] {
        return own_plan(spec, layer, kernel_step(kernels));
      };
      offers.push_back(std::move(offer));
    } catch (const Unsupported& reason) {
      refusal = refusal.empty() ? reason.what() : refusal;
    }
  }
  if (offers.empty()) {
    throw Unsupported(fmt::format("{}: {}", spec.op, refusal));
  }
  kernels.require_compiler();
  return offers;
}

bool is_product(const LayerSpec& spec) {
  return spec.op == "gemm" || spec.op == "matmul" || spec.op == "matmul_integer" ||
         spec.op == "gemm_bias_gradient";
}

std::vector<DeviceOffer> products_of(const LayerSpec& spec, const OfferSources& sources) {
  if (sources.products == nullptr) {
    throw Unsupported(sources.no_products);
  }
  check_capability(spec, sources.kernels.architecture());
  const KernelStep kernel = kernel_step(sources.kernels);
  const auto list = [&](const LayerSpec& product) {
    return gemm_offers(product, *sources.products, kernel);
  };
  return is_integer_product(spec) ? integer_offers(spec, list, kernel) : list(spec);
}

std::vector<DeviceOffer> plain_products_of(const LayerSpec& spec, const OfferSources& sources) {
  const KernelStep kernel = kernel_step(sources.kernels);
  const auto list = [&](const LayerSpec& product) {
    return blas_offers(product, *sources.plain_products, kernel);
  };
  return is_integer_product(spec) ? integer_offers(spec, list, kernel) : list(spec);
}

/// Lists what does a layer first: the library made for it.
std::vector<DeviceOffer> library_offers(const LayerSpec& spec, const OfferSources& sources) {
  if (spec.op == "conv" || spec.op == "conv_transpose" || is_convolution_gradient(spec)) {
    return convolution_offers(spec, sources.cudnn, kernel_step(sources.kernels));
  }
  if (spec.op == "conv_integer") {
    return integer_convolution_offers(spec, sources.cudnn, kernel_step(sources.kernels));
  }
  if (is_product(spec)) {
    return products_of(spec, sources);
  }
  if (is_recurrent(spec)) {
    return recurrent_offers(spec, sources.cudnn, kernel_step(sources.kernels));
  }
  if (spec.op == "attention") {
    return attention_offers(spec, sources.cudnn);
  }
  if (spec.op == "attention_backward") {
    return attention_gradient_offers(spec, sources.cudnn);
  }
  if (spec.op == "layer_norm" || spec.op == "layer_norm_backward" ||
      spec.op == "batch_norm_backward") {
    return norm_offers(spec, sources.cudnn, kernel_step(sources.kernels));
  }
  return {};
}

}  // namespace

KernelStep kernel_step(KernelLibrary& kernels) {
  return [&kernels](const KernelLaunch& launch, const std::vector<std::size_t>& buffers) {
    return kernels.step(launch, buffers);
  };
}

std::vector<DeviceOffer> layer_offers(const LayerSpec& spec, const OfferSources& sources) {
  check_numbers(spec);
  std::vector<DeviceOffer> offers;
  std::string refusal;
  const auto add = [&](auto list) {
    try {
      std::vector<DeviceOffer> more = list();
      std::move(more.begin(), more.end(), std::back_inserter(offers));
    } catch (const Unsupported& reason) {
      refusal = refusal.empty() ? reason.what() : refusal;
    }
  };
  add([&] { return library_offers(spec, sources); });
  if (has_own_kernel(spec.op, TensorLayout::kChannelsFirst)) {
    add([&] { return own_offers(spec, sources.kernels); });
  }
  if (is_product(spec) && sources.plain_products != nullptr) {
    add([&] { return plain_products_of(spec, sources); });
  }
  add([&] { return legacy_offers(spec, sources.cudnn, kernel_step(sources.kernels)); });
  if (offers.empty()) {
    throw Unsupported(refusal.empty() ? fmt::format("neither cuDNN, nor cuBLASLt, nor a kernel of "
                                                    "ours does '{}'",
                                                    spec.op)
                                      : refusal);
  }
  return offers;
}

}  // namespace plumb::cuda
