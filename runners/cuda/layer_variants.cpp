// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/layer_variants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "harness/model/key/product_kind.hpp"
#include "harness/model/key/sequence_shapes.hpp"
#include "harness/model/key/training_layers.hpp"
#include "runners/cuda/blas/lt_product.hpp"
#include "runners/cuda/builtin/builtin_layer.hpp"
#include "runners/cuda/builtin/builtin_step.hpp"
#include "runners/cuda/builtin/integer_variants.hpp"
#include "runners/cuda/dnn/graph_variants.hpp"
#include "runners/cuda/dnn/legacy/legacy_problem.hpp"
#include "runners/cuda/dnn/legacy/recurrent_variants.hpp"
#include "runners/cuda/dnn/norm_variants.hpp"
#include "runners/cuda/exec/index_space.hpp"
#include "runners/cuda/observe/kernel_attributes.hpp"

namespace plumb::cuda {
namespace {

/// Throws Unsupported for extents so large that later sums and products of them could overflow.
void check_numbers(const model::LayerSpec& spec) {
  static constexpr std::int64_t kMost = std::int64_t{1} << 31;
  const auto check = [](const model::TensorType& type) {
    static_cast<void>(element_count(type));
    for (const std::int64_t extent : type.dims) {
      if (extent > kMost) {
        throw Unsupported(fmt::format("the extent {} is above {}", extent, kMost));
      }
    }
  };
  for (const auto& operand : spec.inputs) {
    check(operand.value_or(model::TensorType{}));
  }
  for (const model::TensorType& result : spec.outputs) {
    check(result);
  }
}

VariantBuilder builtin_builder(const model::LayerSpec& spec,
                               const std::string& name,
                               TensorLayout layout,
                               BuiltinLayer layer,
                               KernelLibrary& kernels) {
  VariantBuilder builder;
  builder.text = fmt::format("impl=plumb:{};layout={}", name, to_text(layout));
  builder.attributes = builtin_kernel_attributes();
  builder.inputs = layer.inputs;
  builder.outputs = layer.outputs;
  builder.build = [spec, name, layer = std::move(layer), &kernels] {
    ExecutionPlan plan = builtin_plan(spec, layer, kernel_step(kernels));
    plan.implementation = fmt::format("plumb:{}", name);
    return plan;
  };
  return builder;
}

/// Lists the built-in kernels for a layer, in each layout that it can have, and for an update of
/// several tensors those for one tensor after the other.
std::vector<VariantBuilder> builtin_variants(const model::LayerSpec& spec, KernelLibrary& kernels) {
  std::vector<VariantBuilder> builders;
  std::string refusal;
  for (const TensorLayout layout : {TensorLayout::kChannelsFirst, TensorLayout::kChannelsLast}) {
    const bool has_channels =
        spec.outputs.at(0).dims.size() >= 3 && has_builtin_kernel(spec.op, layout);
    if (layout == TensorLayout::kChannelsLast && !has_channels) {
      continue;
    }
    try {
      builders.push_back(
          builtin_builder(spec, spec.op, layout, builtin_layer(spec, layout), kernels));
    } catch (const Unsupported& reason) {
      refusal = refusal.empty() ? reason.what() : refusal;
    }
  }
  if (builders.empty()) {
    throw Unsupported(fmt::format("{}: {}", spec.op, refusal));
  }
  if (model::is_update(spec) && model::UpdateShape(spec).tensors() > 1) {
    builders.push_back(builtin_builder(spec,
                                       spec.op + "_by_tensor",
                                       TensorLayout::kChannelsFirst,
                                       update_by_tensor(spec),
                                       kernels));
  }
  kernels.require_compiler();
  return builders;
}

bool is_product(const model::LayerSpec& spec) {
  return spec.op == "gemm" || spec.op == "matmul" || spec.op == "matmul_integer" ||
         spec.op == "gemm_bias_gradient";
}

std::vector<VariantBuilder> collect_products(const model::LayerSpec& spec,
                                             const BuilderSources& sources) {
  if (sources.products == nullptr) {
    throw Unsupported(sources.no_products);
  }
  check_capability(spec, sources.kernels.architecture());
  const KernelStep kernel = kernel_step(sources.kernels);
  const auto list = [&](const model::LayerSpec& product) {
    return gemm_variants(product, *sources.products, kernel);
  };
  return model::is_integer_product(spec) ? integer_variants(spec, list, kernel) : list(spec);
}

std::vector<VariantBuilder> collect_plain_products(const model::LayerSpec& spec,
                                                   const BuilderSources& sources) {
  const KernelStep kernel = kernel_step(sources.kernels);
  const auto list = [&](const model::LayerSpec& product) {
    return blas_variants(product, *sources.products, kernel);
  };
  return model::is_integer_product(spec) ? integer_variants(spec, list, kernel) : list(spec);
}

/// Lists the variants of the library that is made for a layer. Empty: there is no such library.
std::vector<VariantBuilder> library_offers(const model::LayerSpec& spec,
                                           const BuilderSources& sources) {
  if (spec.op == "conv" || spec.op == "conv_transpose" || model::is_convolution_gradient(spec)) {
    return convolution_variants(spec, sources.cudnn, kernel_step(sources.kernels));
  }
  if (spec.op == "conv_integer") {
    return integer_convolution_offers(spec, sources.cudnn, kernel_step(sources.kernels));
  }
  if (is_product(spec)) {
    return collect_products(spec, sources);
  }
  if (model::is_recurrent(spec)) {
    return recurrent_variants(spec, sources.cudnn, kernel_step(sources.kernels));
  }
  if (spec.op == "attention") {
    return attention_variants(spec, sources.cudnn);
  }
  if (spec.op == "attention_backward") {
    return attention_gradient_offers(spec, sources.cudnn);
  }
  if (spec.op == "layer_norm" || spec.op == "layer_norm_backward" ||
      spec.op == "batch_norm_backward") {
    return norm_variants(spec, sources.cudnn, kernel_step(sources.kernels));
  }
  return {};
}

}  // namespace

KernelStep kernel_step(KernelLibrary& kernels) {
  return [&kernels](const KernelLaunch& launch, const std::vector<std::size_t>& buffers) {
    return kernels.step(launch, buffers);
  };
}

std::vector<VariantBuilder> layer_variants(const model::LayerSpec& spec,
                                           const BuilderSources& sources) {
  check_numbers(spec);
  std::vector<VariantBuilder> builders;
  std::string refusal;
  const auto add = [&](auto list) {
    try {
      std::vector<VariantBuilder> more = list();
      std::move(more.begin(), more.end(), std::back_inserter(builders));
    } catch (const Unsupported& reason) {
      refusal = refusal.empty() ? reason.what() : refusal;
    }
  };
  add([&] { return library_offers(spec, sources); });
  if (has_builtin_kernel(spec.op, TensorLayout::kChannelsFirst)) {
    add([&] { return builtin_variants(spec, sources.kernels); });
  }
  if (is_product(spec) && sources.products != nullptr && sources.products->has_older_calls()) {
    add([&] { return collect_plain_products(spec, sources); });
  }
  add([&] { return legacy_variants(spec, sources.cudnn, kernel_step(sources.kernels)); });
  if (builders.empty()) {
    throw Unsupported(
        refusal.empty()
            ? fmt::format("neither cuDNN, nor cuBLASLt, nor a built-in kernel computes '{}'",
                          spec.op)
            : refusal);
  }
  return builders;
}

}  // namespace plumb::cuda
