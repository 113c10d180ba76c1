// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "harness/model/key/layer_spec.hpp"
#include "runners/onednn/exec/variant_builder.hpp"

namespace plumb::onednn {

/// Function that adds all of the library's variants of one layer family to the list, best first.
/// Throws Unsupported or dnnl::error where there is none.
using BuilderFunction = void (*)(const model::LayerSpec& spec,
                                 const Device& device,
                                 BuilderList& list);

void offer_convolution(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_deconvolution(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_gemm(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_matmul(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_batch_norm(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_lrn(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_max_pool(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_average_pool(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_eltwise(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_prelu(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_binary(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_sum(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_softmax(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_layer_norm(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_reduction(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_resampling(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_transpose(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_cast(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_split(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_slice(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_concat(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_quantize(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_dequantize(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_view(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_attention(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_recurrent(const model::LayerSpec& spec, const Device& device, BuilderList& list);

// Gradients.
void offer_convolution_data_gradient(const model::LayerSpec& spec,
                                     const Device& device,
                                     BuilderList& list);
void offer_convolution_weights_gradient(const model::LayerSpec& spec,
                                        const Device& device,
                                        BuilderList& list);
void offer_product_gradient(const model::LayerSpec& spec, const Device& device, BuilderList& list);
/// Returns whether a product has a bias gradient beside it or fused training steps behind it.
/// offer_product_gradient handles such a product.
[[nodiscard]] bool has_gradient_steps(const model::LayerSpec& spec);
void offer_eltwise_gradient(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_softmax_gradient(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_batch_norm_training(const model::LayerSpec& spec,
                               const Device& device,
                               BuilderList& list);
void offer_batch_norm_gradient(const model::LayerSpec& spec,
                               const Device& device,
                               BuilderList& list);
void offer_layer_norm_gradient(const model::LayerSpec& spec,
                               const Device& device,
                               BuilderList& list);
void offer_max_pool_gradient(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void offer_average_pool_gradient(const model::LayerSpec& spec,
                                 const Device& device,
                                 BuilderList& list);

// Built-in kernels (kernels/) for what the library lacks.
void normalize_layers(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void normalize_groups(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void normalize_batch(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void normalize_response(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void pool_max(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void pool_average(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void pool_power(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void apply_eltwise(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void apply_binary(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void apply_sum(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void apply_cast(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void copy_slice(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void copy_pad(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void copy_expand(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void copy_tile(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void copy_transpose(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void copy_split(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void copy_concat(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void copy_blocks_of_space(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void copy_nearest(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void interpolate_resize(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void gather_rows(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void add_rows(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void update_weights(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void adapt_loss_scale(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void select_where(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void fold_reduce(const model::LayerSpec& spec, const Device& device, BuilderList& list);
void find_extreme(const model::LayerSpec& spec, const Device& device, BuilderList& list);

/// Collects all variants of a layer: the library's and, where these are none or only reference
/// code, the built-in kernel. Throws Unsupported with the reason if there is no variant.
[[nodiscard]] BuilderList collect_builders(const model::LayerSpec& spec, const Device& device);

/// Makes the builder of a variant that divides a layer's batch into parts, executed one after the
/// other (harness/results/division/divided_variant.hpp). Absent: the variant names no division.
/// Throws Unsupported where a part has no such variant, is more than one primitive, or wants its
/// images in a layout that cannot be cut between them.
[[nodiscard]] std::optional<VariantBuilder> divided_builder(const model::LayerSpec& spec,
                                                            std::string_view variant,
                                                            const Device& device);

}  // namespace plumb::onednn
